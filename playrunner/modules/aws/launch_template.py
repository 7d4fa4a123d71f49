"""aws.launch_template: how instances of a kind start; a changed declaration becomes a new version,
and the default one."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Literal

from playrunner.aws.tags import specification
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State, narrow
from playrunner.modules.aws import _efa
from playrunner.modules.aws._ec2 import METADATA, Ec2Module, gp3_volume, with_plain_tags
from playrunner.modules.aws._template_data import as_data, as_state

if TYPE_CHECKING:
    from playrunner.run.context import Context

_TAGGED = ("instance", "volume", "network-interface")


# In the form that EKS joins with its own settings when it starts a node.
NODE_CONFIG = """\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="playrunner"

--playrunner
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  instance:
    localStorage:
      strategy: %s
--playrunner--
"""


class LaunchTemplate(Ec2Module):
    """How instances of a kind start, known by its name in the region."""

    id_field, kind = "LaunchTemplateId", "launch-template"

    instance_type: str | None = None  # as trn1.32xlarge; empty where a node group names several
    image_id: str | None = None  # empty where a node group chooses it
    efa: bool = False  # as many EFA interfaces as the instance type has
    security_group_ids: list[str] = []  # for EFA one of them lets all traffic in and out to itself
    key_name: str | None = None  # a key pair
    user_data: str | None = None  # what an instance does at its first start, in plain text
    # What EKS nodes do with the disks of the machine: one for pods and images, or each by itself
    local_storage: Literal["RAID0", "Mount"] | None = None
    metadata_hops: int = 2  # who may ask for its metadata; pods are one hop behind their node
    volume_gib: int = 100  # its root disk, gp3 and encrypted
    root_device: str = "/dev/xvda"  # as the image names it
    placement_group: str | None = None  # close to the others in it
    capacity_reservation_id: str | None = None  # take instances from this reservation
    # The reservation is a capacity block for machine learning
    market: Literal["capacity-block"] | None = None
    instance_name: str | None = None  # the Name tag of instances; empty: the template's name
    instance_tags: dict[str, str] = {}  # more tags for instances, their disks and interfaces

    def observe(self, ctx: Context) -> State | None:
        every = ctx.aws.read("ec2", "describe_launch_templates")["LaunchTemplates"]
        template = with_plain_tags(
            next((item for item in every if item["LaunchTemplateName"] == self.name), None)
        )
        if template is None:
            return None
        versions = ctx.aws.read(
            "ec2",
            "describe_launch_template_versions",
            LaunchTemplateId=template["LaunchTemplateId"],
            missing=("InvalidLaunchTemplateId.NotFound",),
            Versions=["$Default", "$Latest"],
        )
        if not versions or not versions["LaunchTemplateVersions"]:
            return None
        newest = max(
            versions["LaunchTemplateVersions"], key=lambda version: int(version["VersionNumber"])
        )
        default = next(
            version for version in versions["LaunchTemplateVersions"] if version["DefaultVersion"]
        )
        return {
            **template,
            "data": as_state(default["LaunchTemplateData"]),
            "latest": as_state(newest["LaunchTemplateData"]),
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        if self.market and not self.capacity_reservation_id:
            raise Failed("market: capacity-block needs the capacity_reservation_id of the block")
        text = self.user_data or (NODE_CONFIG % self.local_storage if self.local_storage else "")
        user_data = base64.b64encode(text.encode()).decode() if text else None
        reservation = {
            "CapacityReservationTarget": {"CapacityReservationId": self.capacity_reservation_id}
        }
        data = {
            "InstanceType": self.instance_type,
            "ImageId": self.image_id,
            "KeyName": self.key_name,
            "UserData": user_data,
            "BlockDeviceMappings": [gp3_volume(self.root_device, self.volume_gib)],
            "MetadataOptions": {**METADATA, "HttpPutResponseHopLimit": self.metadata_hops},
            "Placement": {"GroupName": self.placement_group} if self.placement_group else None,
            "CapacityReservationSpecification": reservation
            if self.capacity_reservation_id
            else None,
            "InstanceMarketOptions": {"MarketType": self.market} if self.market else None,
            "TagSpecifications": self._tags_of_instances(self._named_tags()),
            **self._network(ctx),
        }
        return self.declared(data=as_state(data))

    def apply(self, ctx: Context, change: Change) -> None:
        seen = change.observed or {}
        if change.after is None:
            ctx.aws.call("ec2", "delete_launch_template", LaunchTemplateId=seen["LaunchTemplateId"])
            return
        marks = {**self._named_tags(), **ctx.owner.tags(self.instance_name or self.name)}
        data = {
            **as_data(change.after["data"]),
            "TagSpecifications": self._tags_of_instances(marks),
        }
        if change.creates:
            ctx.aws.call(
                "ec2",
                "create_launch_template",
                token="ClientToken",
                LaunchTemplateName=self.name,
                LaunchTemplateData=data,
                TagSpecifications=self.marked(ctx),
            )
        elif change.touches("data"):
            newest = seen["LatestVersionNumber"]
            if narrow(seen["latest"], change.after["data"]) != change.after["data"]:
                made = ctx.aws.call(
                    "ec2",
                    "create_launch_template_version",
                    token="ClientToken",
                    LaunchTemplateId=seen["LaunchTemplateId"],
                    LaunchTemplateData=data,
                )
                newest = made["LaunchTemplateVersion"]["VersionNumber"]
            ctx.aws.call(
                "ec2",
                "modify_launch_template",
                LaunchTemplateId=seen["LaunchTemplateId"],
                DefaultVersion=str(newest),
            )
        self.update_tags(ctx, change)

    def _network(self, ctx: Context) -> dict[str, Any]:
        if not self.efa:
            return {
                "SecurityGroupIds": sorted(self.security_group_ids) or None,
                "NetworkInterfaces": None,
            }
        if not self.instance_type:
            raise Failed(
                "efa: true needs an instance_type, which says how many interfaces there are"
            )
        cards = _efa.cards_of(ctx, self.instance_type)
        if not cards:
            raise Failed(
                f"{self.instance_type} has no EFA; leave out `efa`, or take a type that has it"
            )
        interfaces = _efa.interfaces(self.instance_type, cards, sorted(self.security_group_ids))
        return {"SecurityGroupIds": None, "NetworkInterfaces": interfaces}

    def _named_tags(self) -> dict[str, str]:
        return {
            **{str(key): str(value) for key, value in self.instance_tags.items()},
            "Name": self.instance_name or self.name,
        }

    def _tags_of_instances(self, tags: dict[str, str]) -> list[dict[str, Any]]:
        return [part for kind in _TAGGED for part in specification(kind, tags)]
