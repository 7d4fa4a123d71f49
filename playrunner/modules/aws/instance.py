"""aws.instance: one machine, such as a jump host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.aws.tags import mine, specification
from playrunner.cloud.resource import Refused
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._ec2 import METADATA, Ec2Module, gp3_volume, one, refuse_to_change

if TYPE_CHECKING:
    from playrunner.run.context import Context

# The zone cannot give such a machine now; another may.
NO_CAPACITY = (
    "InsufficientInstanceCapacity",
    "InsufficientCapacity",
    "Unsupported",
    "InsufficientFreeAddressesInSubnet",
    "UnfulfillableCapacity",
)


class Instance(Ec2Module):
    """One machine that runs, found by its name among those tagged as ours."""

    id_field, kind = "InstanceId", "instance"
    can_double = True
    settle_seconds = 600

    image_id: str  # what it starts from; a later image does not replace a machine that runs
    instance_type: str = "t3.large"  # its size
    subnet_ids: list[str]  # where it may stand, in the order to try when a zone has no capacity
    security_group_ids: list[str] = []  # who may talk to it
    key_name: str | None = None  # a key pair whose owner may log in
    profile: str | None = None  # an instance profile, whose role its programs act in
    public: bool | None = None  # a public address, or none; empty: as the subnet gives
    volume_gib: int = 100  # its root disk, gp3 and encrypted
    root_device: str = "/dev/xvda"  # as the image names it
    user_data: str | None = None  # what it does at its first start

    def observe(self, ctx: Context) -> State | None:
        reservations = ctx.aws.read("ec2", "describe_instances", **mine(ctx.owner))["Reservations"]
        every = [item for reservation in reservations for item in reservation["Instances"]]
        instance = one([item for item in every if item["State"]["Name"] != "terminated"], self.name)
        return instance and {
            **instance,
            "groups": sorted(group["GroupId"] for group in instance.get("SecurityGroups") or ()),
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        return self.declared(
            InstanceType=self.instance_type,
            State={"Name": "running"},
            groups=sorted(set(self.security_group_ids)) or None,
        )

    def apply(self, ctx: Context, change: Change) -> None:
        seen = change.observed or {}
        if change.after is None:
            ctx.aws.call("ec2", "terminate_instances", InstanceIds=[seen["InstanceId"]])
            return
        refuse_to_change(change, "InstanceType")
        if change.creates:
            self._start(ctx)
            return
        if change.touches("groups"):
            ctx.aws.call(
                "ec2",
                "modify_instance_attribute",
                InstanceId=seen["InstanceId"],
                Groups=change.after["groups"],
            )
        if change.touches("State"):
            ctx.aws.call("ec2", "start_instances", InstanceIds=[seen["InstanceId"]])
        self.update_tags(ctx, change)

    def _start(self, ctx: Context) -> None:
        for number, subnet in enumerate(self.subnet_ids, 1):
            try:
                ctx.aws.call("ec2", "run_instances", token="ClientToken", **self._wish(ctx, subnet))
                return
            except Refused as refusal:
                if refusal.code not in NO_CAPACITY or number == len(self.subnet_ids):
                    raise
                ctx.warn(f"{refusal}; trying the next subnet")

    def _wish(self, ctx: Context, subnet: str) -> dict[str, Any]:
        marks = self.marked(ctx)
        request = {
            "ImageId": self.image_id,
            "InstanceType": self.instance_type,
            "MinCount": 1,
            "MaxCount": 1,
            "MetadataOptions": METADATA,
            "BlockDeviceMappings": [gp3_volume(self.root_device, self.volume_gib)],
            "TagSpecifications": [*marks, *specification("volume", ctx.owner.tags(self.name))],
            "KeyName": self.key_name,
            "UserData": self.user_data,
            "IamInstanceProfile": {"Name": self.profile} if self.profile else None,
        }
        groups = self.security_group_ids or None
        if self.public is None:
            request.update(SubnetId=subnet, SecurityGroupIds=groups)
        else:
            card = {
                "DeviceIndex": 0,
                "SubnetId": subnet,
                "Groups": groups,
                "AssociatePublicIpAddress": self.public,
                "DeleteOnTermination": True,
            }
            request["NetworkInterfaces"] = [
                {name: value for name, value in card.items() if value is not None}
            ]
        return {name: value for name, value in request.items() if value is not None}

    def moving(self, state: State) -> str | None:
        doing = state["State"]["Name"]
        return doing if doing in ("pending", "stopping", "shutting-down") else None

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        return (
            None
            if arguments.get("subnet_ids", True)
            else "it needs at least one subnet in subnet_ids"
        )
