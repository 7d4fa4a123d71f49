"""EFS: file systems and mount targets take time to come and to go; a target's interface stays as
long as it does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from moto.efs.models import efs_backends

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import AwsError, Call, Reply, written
from playrunner.sandbox.aws.ec2 import network

Moto = Callable[[], Reply]


def create_file_system(call: Call, moto: Moto) -> Reply:
    reply = moto()
    if reply.error:
        return reply
    answer = json.loads(reply.body)
    _pass_through(call, _efs(call).file_systems_by_id[answer["FileSystemId"]], "efs.file_system")
    return _with_state(reply, answer, "creating")


def create_mount_target(call: Call, moto: Moto) -> Reply:
    file_system = _efs(call).file_systems_by_id.get(call.params["FileSystemId"])
    if file_system is not None and file_system.life_cycle_state != "available":
        message = (
            f"File system '{file_system.file_system_id}' is in state"
            f" '{file_system.life_cycle_state}'"
        )
        raise AwsError(
            "IncorrectFileSystemLifeCycleState",
            message,
            409,
            ErrorCode="IncorrectFileSystemLifeCycleState",
        )
    reply = moto()
    if reply.error:
        return reply
    answer = json.loads(reply.body)
    target = _efs(call).mount_targets_by_id[answer["MountTargetId"]]
    network.claim_interface(call, target.network_interface_id, f"efs/{target.mount_target_id}")
    interface = network.backend(call.region_name).enis[target.network_interface_id]
    interface.description = (
        f"EFS mount target for {target.file_system_id} ({target.mount_target_id})"
    )
    _pass_through(call, target, "efs.mount_target.create")
    return _with_state(reply, answer, "creating")


def delete_mount_target(call: Call, moto: Moto) -> Reply:
    efs, target_id = _efs(call), call.params["MountTargetId"]
    target = efs.mount_targets_by_id.get(target_id)
    if target is None:
        return moto()
    if target.life_cycle_state != "deleting":
        target.life_cycle_state = "deleting"
        call.state.later("efs.mount_target.delete", lambda: _target_gone(call, efs, target))
    return written(call, {})


def _target_gone(call: Call, efs: Any, target: Any) -> None:
    call.region.held.pop(target.network_interface_id, None)
    efs.delete_mount_target(target.mount_target_id)


def delete_file_system(call: Call, moto: Moto) -> Reply:
    efs, number = _efs(call), call.params["FileSystemId"]
    file_system = efs.file_systems_by_id.get(number)
    if file_system is None or file_system.number_of_mount_targets:
        return moto()  # which refuses both
    if file_system.life_cycle_state != "deleting":
        file_system.life_cycle_state = "deleting"
        call.state.later("efs.file_system", lambda: _file_system_gone(efs, number))
    return written(call, {})


def _file_system_gone(efs: Any, number: str) -> None:
    for point in [key for key, one in efs.access_points.items() if one.file_system_id == number]:
        efs.access_points.pop(point)
    efs.delete_file_system(number)


def _pass_through(call: Call, thing: Any, delay: str) -> None:
    thing.life_cycle_state = "creating"

    def finish() -> None:
        if thing.life_cycle_state == "creating":
            thing.life_cycle_state = "available"

    call.state.later(delay, finish)


def _with_state(reply: Reply, answer: dict[str, Any], state: str) -> Reply:
    body = json.dumps({**answer, "LifeCycleState": state}).encode()
    return Reply(reply.status, {**reply.headers, "Content-Length": str(len(body))}, body)


def _efs(call: Call) -> Any:
    return efs_backends[ACCOUNT][call.region_name]


def create_access_point(call: Call, moto: Moto) -> Reply:
    token = call.params.get("ClientToken")
    known = next(
        (one for one in _efs(call).access_points.values() if one.client_token == token), None
    )
    if known is not None:
        said = f"Access point already exists with creation token {token}"
        raise AwsError(
            "AccessPointAlreadyExists",
            said,
            409,
            ErrorCode="AccessPointAlreadyExists",
            AccessPointId=known.access_point_id,
        )
    return moto()


def update_file_system(call: Call) -> dict[str, Any]:
    file_system = _found(call)
    if file_system.life_cycle_state != "available":
        raise AwsError(
            "IncorrectFileSystemLifeCycleState", f"it is {file_system.life_cycle_state}", 409
        )
    file_system.throughput_mode = call.params.get("ThroughputMode") or file_system.throughput_mode
    provisioned = (
        call.params.get("ProvisionedThroughputInMibps")
        or file_system.provisioned_throughput_in_mibps
    )
    file_system.provisioned_throughput_in_mibps = (
        provisioned if file_system.throughput_mode == "provisioned" else None
    )
    file_system.life_cycle_state = "updating"
    call.state.later("efs.file_system", lambda: _again_available(file_system))
    return dict(file_system.info_json())


def put_backup_policy(call: Call) -> dict[str, Any]:
    file_system = _found(call)
    file_system._backup = call.params["BackupPolicy"]["Status"] == "ENABLED"
    return {"BackupPolicy": {"Status": "ENABLED" if file_system._backup else "DISABLED"}}


def _found(call: Call) -> Any:
    number = call.params["FileSystemId"]
    if number not in _efs(call).file_systems_by_id:
        raise AwsError(
            "FileSystemNotFound",
            f"File system '{number}' does not exist.",
            404,
            ErrorCode="FileSystemNotFound",
        )
    return _efs(call).file_systems_by_id[number]


def _again_available(file_system: Any) -> None:
    if file_system.life_cycle_state == "updating":
        file_system.life_cycle_state = "available"


ANSWERS = {"UpdateFileSystem": update_file_system, "PutBackupPolicy": put_backup_policy}
AROUND = {
    "CreateAccessPoint": create_access_point,
    "CreateFileSystem": create_file_system,
    "CreateMountTarget": create_mount_target,
    "DeleteMountTarget": delete_mount_target,
    "DeleteFileSystem": delete_file_system,
}
