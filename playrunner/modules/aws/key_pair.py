"""aws.key_pair: the public half of an SSH key, for instances to let its owner in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.hostside.state import Change, State
from playrunner.modules.aws._ec2 import Ec2Module, with_plain_tags

if TYPE_CHECKING:
    from playrunner.run.context import Context


class KeyPair(Ec2Module):
    """The public half of an SSH key, known by its name in the region; the private half never leaves
    its owner."""

    id_field, kind = "KeyPairId", "key-pair"

    # As in ~/.ssh/id_ed25519.pub; instances that run keep the key they started with
    public_key: str

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        key = arguments.get("public_key")
        if key is not None and "PRIVATE KEY" in key:
            return "public_key is a private key; give the text of the file that ends in .pub"
        if key is not None and len(key.split()) < 2:
            return 'public_key is the text of a .pub file, as "ssh-ed25519 AAAA... name"'
        return None

    def observe(self, ctx: Context) -> State | None:
        every = ctx.aws.read("ec2", "describe_key_pairs", IncludePublicKey=True)["KeyPairs"]
        key_pair = with_plain_tags(
            next((item for item in every if item["KeyName"] == self.name), None)
        )
        return key_pair and {
            **key_pair,
            "PublicKey": _without_comment(key_pair.get("PublicKey") or ""),
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        return self.declared(PublicKey=_without_comment(self.public_key))

    def apply(self, ctx: Context, change: Change) -> None:
        if change.observed is not None and (change.removes or change.touches("PublicKey")):
            ctx.aws.call("ec2", "delete_key_pair", KeyName=self.name)
        if change.after is not None and change.touches("PublicKey"):
            ctx.aws.call(
                "ec2",
                "import_key_pair",
                KeyName=self.name,
                PublicKeyMaterial=change.after["PublicKey"].encode(),
                TagSpecifications=self.marked(ctx),
            )
        else:
            self.update_tags(ctx, change)


def _without_comment(key: str) -> str:
    return " ".join(key.split()[:2])
