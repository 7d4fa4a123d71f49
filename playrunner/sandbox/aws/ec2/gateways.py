"""NAT gateways and VPC endpoints: pending before they work, deleting before they and their
interfaces are gone."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from playrunner.sandbox.aws.api.tokens import keep_token
from playrunner.sandbox.aws.api.wire import AwsError, Call, Reply
from playrunner.sandbox.aws.ec2 import network


def create_nat_gateway(call: Call, moto: Callable[[], Reply]) -> Reply:
    return keep_token(call, lambda: _create(call, moto))


def _create(call: Call, moto: Callable[[], Reply]) -> Reply:
    ec2, wanted = network.backend(call.region_name), call.params.get("AllocationId")
    address = next((one for one in ec2.addresses if one.allocation_id == wanted), None)
    if address is not None and address.association_id:
        raise AwsError(
            "Resource.AlreadyAssociated", f"Elastic IP address [{wanted}] is already associated"
        )
    reply = moto()
    if reply.error is None:
        gateway = ec2.nat_gateways[
            re.findall(r"<natGatewayId>(nat-[0-9a-f]+)<", reply.body.decode())[0]
        ]
        network.claim_interface(call, gateway._eni.id, f"nat/{gateway.id}")
        gateway._eni.description = f"Interface for NAT Gateway {gateway.id}"
        gateway.state = "pending"
        call.state.later("ec2.nat_gateway.create", lambda: _enter(gateway, "pending", "available"))
        body = reply.body.replace(b"<state>available<", b"<state>pending<")
        return Reply(reply.status, {**reply.headers, "Content-Length": str(len(body))}, body)
    return reply


def delete_nat_gateway(call: Call, moto: Callable[[], Reply]) -> Reply:
    gateway = network.backend(call.region_name).nat_gateways.get(call.params["NatGatewayId"])
    if gateway is None:
        raise AwsError(
            "NatGatewayNotFound", f"NAT gateway {call.params['NatGatewayId']} was not found"
        )
    if gateway.state == "deleted":
        raise AwsError("NatGatewayNotFound", f"NAT gateway {gateway.id} was not found")
    reply = moto()
    gateway.state = "deleting"
    call.state.later("ec2.nat_gateway.delete", lambda: _gone(call, gateway))
    return reply


def _gone(call: Call, gateway: Any) -> None:
    for address in network.backend(call.region_name).addresses:
        if address.eni is not None and address.eni.id == gateway._eni.id:
            address.eni = address.association_id = None
    network.release_interface(call, gateway._eni.id)
    gateway.state = "deleted"


def _enter(gateway: Any, before: str, after: str) -> None:
    if gateway.state == before:
        gateway.state = after


def delete_vpc_endpoints(call: Call, moto: Callable[[], Reply]) -> Reply:
    """moto lists the deleted ones for ever."""
    backend = network.backend(call.region_name)
    endpoints = backend.vpc_end_points
    for number in call.params["VpcEndpointIds"]:
        # moto falls over route tables that are gone, and over the type that is the default
        if number in endpoints:
            endpoint = endpoints[number]
            endpoint.vpc_endpoint_type = endpoint.vpc_endpoint_type or "Gateway"
            endpoint.route_table_ids = [
                table for table in endpoint.route_table_ids or () if table in backend.route_tables
            ]
    reply = moto()
    for number in call.params["VpcEndpointIds"]:
        if number in endpoints:
            endpoints[number].state = "deleting"
            call.state.later("ec2.vpc_endpoint.delete", partial(endpoints.pop, number, None))
    return reply


AROUND = {
    "CreateNatGateway": create_nat_gateway,
    "DeleteNatGateway": delete_nat_gateway,
    "DeleteVpcEndpoints": delete_vpc_endpoints,
}
