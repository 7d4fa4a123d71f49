"""aws.efs_access_point: a folder entered as a fixed user, found again by its name."""

from __future__ import annotations

from typing import Any

from tests.support.aws.module_stage import AwsStage, keeps_its_promise

STORE = {"name": "store", "aws.efs_filesystem": {"name": "data"}, "register": "store"}


def point(path: str = "/jobs", **more: Any) -> dict[str, Any]:
    return {
        "name": "point",
        "aws.efs_access_point": {
            "name": "jobs",
            "file_system": "{{ store.FileSystemId }}",
            "path": path,
            **more,
        },
    }


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    number = stage.play([STORE]).values["store"]["FileSystemId"]
    keeps_its_promise(stage, point(file_system=number))


def test_its_folder_belongs_to_the_user_that_enters(stage: AwsStage) -> None:
    assert stage.play([STORE, point(uid=1234, gid=99, permissions="0700")]).code == 0
    (found,) = stage.aws.client("efs").describe_access_points()["AccessPoints"]
    assert found["PosixUser"] == {"Uid": 1234, "Gid": 99}
    assert found["RootDirectory"] == {
        "Path": "/jobs",
        "CreationInfo": {"OwnerUid": 1234, "OwnerGid": 99, "Permissions": "0700"},
    }


def test_another_folder_needs_another_name(stage: AwsStage) -> None:
    stage.play([STORE, point()])
    run = stage.play([STORE, point("/other")])
    assert run.code == 2 and "cannot be changed to '/other'" in run.messages


def test_it_goes_before_its_file_system(stage: AwsStage) -> None:
    stage.play([STORE, point()])
    mark = len(stage.aws.calls())
    assert stage.delete([STORE, point()]).code == 0
    done = [call["action"] for call in stage.aws.calls()[mark:] if call["mutating"]]
    assert done == ["DeleteAccessPoint", "DeleteFileSystem"]
    assert stage.aws.client("efs").describe_access_points()["AccessPoints"] == []
