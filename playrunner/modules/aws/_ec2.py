"""Ec2Module: what the modules of EC2's things share: finding by name, tagging when made, and fields
that cannot change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.aws.tags import DUPLICATES, named, plain, specification, spelled
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._base import AwsModule
from playrunner.project import program

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Ec2Module(AwsModule):
    """A thing of EC2's; its `Tags` are a mapping in all that modules see, so that only the declared
    ones are compared."""

    id_field: ClassVar[str]
    kind: ClassVar[str]  # EC2's word for such a thing where it is tagged

    name: str  # its Name tag
    tags: dict[
        str, str
    ] = {}  # tags beside Name and the owner mark; others that are there are left alone

    def label(self, state: State) -> str:
        return str(state.get(self.id_field, ""))

    def wait_until_ready(self, ctx: Context, state: State, attempts: int) -> State:
        for other in state.get(DUPLICATES) or ():
            ctx.warn(
                f"{self.kind} {self.label(state)} is kept and used; {other} has the same name and"
                f' our tag: delete it yourself, or let "{program()} teardown" delete both'
            )
        return state

    def marked(self, ctx: Context) -> list[dict[str, Any]]:
        """The tags it is made with."""
        return specification(self.kind, {**self._declared_tags(), **ctx.owner.tags(self.name)})

    def declared(self, **fields: Any) -> State:
        """A desired state: these fields as far as they are given, and the declared tags."""
        state = {name: value for name, value in fields.items() if value is not None}
        return {**state, "Tags": self._declared_tags()}

    def update_tags(self, ctx: Context, change: Change) -> None:
        if change.observed is not None and change.after is not None and change.touches("Tags"):
            ctx.aws.call(
                "ec2",
                "create_tags",
                Resources=[change.observed[self.id_field]],
                Tags=spelled(change.after["Tags"]),
            )

    def _declared_tags(self) -> dict[str, str]:
        return {str(key): str(value) for key, value in self.tags.items()}


def one(items: Iterable[Mapping[str, Any]], name: str) -> State | None:
    """Of things tagged as ours, the one of that name."""
    return with_plain_tags(named(items, name))


def with_plain_tags(item: Mapping[str, Any] | None) -> State | None:
    return None if item is None else {**item, "Tags": plain(item.get("Tags"))}


def refuse_to_change(change: Change, *fields: str) -> None:
    """Complain when a field differs that the service can set only once."""
    for field in fields:
        if change.before is not None and change.after is not None and change.touches(field):
            raise Failed(
                f"its {field} is {change.before.get(field)!r} and cannot become"
                f" {change.after.get(field)!r}; delete it first, or give the new one another name"
            )


def gp3_volume(device: str, gib: int, encrypted: bool = True) -> dict[str, Any]:
    """A root disk that goes with its instance."""
    return {
        "DeviceName": device,
        "Ebs": {
            "VolumeSize": gib,
            "VolumeType": "gp3",
            "Encrypted": encrypted,
            "DeleteOnTermination": True,
        },
    }


# Sessions only, and one hop more than usual: pods are one hop behind their node.
METADATA = {"HttpTokens": "required", "HttpPutResponseHopLimit": 2, "HttpEndpoint": "enabled"}
