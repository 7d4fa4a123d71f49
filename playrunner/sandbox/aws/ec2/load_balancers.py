"""Load balancers (classic and v2) have an interface in each of their subnets, which outlives them
by a little."""

from __future__ import annotations

import re
from collections.abc import Callable

from playrunner.sandbox.aws.api.wire import Call, Reply
from playrunner.sandbox.aws.ec2 import network


def create_load_balancer(call: Call, moto: Callable[[], Reply]) -> Reply:
    reply = moto()
    if reply.error is None:
        name = call.params.get("LoadBalancerName") or call.params["Name"]
        arn = re.findall(r"<LoadBalancerArn>(.*?)</", reply.body.decode())
        subnets = call.params.get("Subnets") or [
            one["SubnetId"] for one in call.params.get("SubnetMappings") or []
        ]
        for subnet_id in subnets:
            label = arn[0].partition("loadbalancer/")[2] if arn else name
            network.hold_interface(
                call,
                subnet_id,
                call.params.get("SecurityGroups") or [],
                _holder(call, arn[0] if arn else name),
                f"ELB {label}",
            )
    return reply


def delete_load_balancer(call: Call, moto: Callable[[], Reply]) -> Reply:
    reply = moto()
    if reply.error is None:
        holder = _holder(
            call, call.params.get("LoadBalancerArn") or call.params["LoadBalancerName"]
        )
        call.state.later("elb.interface.linger", lambda: _let_go(call, holder))
    return reply


def _let_go(call: Call, holder: str) -> None:
    for interface_id in [one for one, who in call.region.held.items() if who == holder]:
        network.release_interface(call, interface_id)


def _holder(call: Call, name: str) -> str:
    return f"{call.service}/{name}"


AROUND = {"CreateLoadBalancer": create_load_balancer, "DeleteLoadBalancer": delete_load_balancer}
