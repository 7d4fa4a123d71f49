"""CloudWatch forgets a log group's tags with the group; moto gives them to the next one of the
name."""

from __future__ import annotations

from collections.abc import Callable

from moto.logs.models import logs_backends

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import Call, Reply


def delete_log_group(call: Call, moto: Callable[[], Reply]) -> Reply:
    backend = logs_backends[ACCOUNT][call.region_name]
    group = backend.groups.get(call.params["logGroupName"])
    reply = moto()
    if group is not None and not reply.error:
        for arn in (group.arn, group.arn.removesuffix(":*")):
            backend.tagger.delete_all_tags_for_resource(arn)
    return reply


AROUND = {"DeleteLogGroup": delete_log_group}
