"""aws.s3_bucket: a bucket that only the account can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playrunner.aws import contents
from playrunner.aws.tags import plain, spelled
from playrunner.cloud.resource import HoldsData, Refused
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._keep import KeptModule
from playrunner.modules.aws._storage import given
from playrunner.modules.aws._storage_bucket import empty, holds_something

if TYPE_CHECKING:
    from playrunner.run.context import Context

_PRIVATE = {
    "BlockPublicAcls": True,
    "IgnorePublicAcls": True,
    "BlockPublicPolicy": True,
    "RestrictPublicBuckets": True,
}


class S3Bucket(KeptModule):
    """A bucket in the run's region. Bucket names are unique in all of AWS, so it may be
    taken."""

    name: str  # lower case letters, digits, dots and dashes
    block_public_access: bool = True  # no policy and no object can make it public
    kms_key: str | None = None  # the key to encrypt with; S3's own keys (AES256) when not given
    versioning: bool | None = None  # keep earlier versions of objects; not spoken of when not given
    # When it is deleted, all that is in it goes with it; otherwise only an empty one is deleted
    empty_on_delete: bool = False

    def observe(self, ctx: Context) -> State | None:
        tagging = ctx.aws.read(
            "s3",
            "get_bucket_tagging",
            ("NoSuchBucket", "NoSuchTagSet", "AccessDenied"),
            Bucket=self.name,
        )
        if tagging is None and not self._exists(ctx):
            return None
        arn = f"arn:{ctx.aws.partition}:s3:::{self.name}"
        state: State = {"Name": self.name, "Arn": arn, "Tags": (tagging or {}).get("TagSet", [])}
        if not self.ours(ctx, state):
            return state
        gone = (
            "NoSuchPublicAccessBlockConfiguration",
            "ServerSideEncryptionConfigurationNotFoundError",
            "NoSuchBucket",
        )
        public = ctx.aws.read("s3", "get_public_access_block", gone, Bucket=self.name)
        secret = ctx.aws.read("s3", "get_bucket_encryption", gone, Bucket=self.name)
        state["PublicAccessBlock"] = (
            public["PublicAccessBlockConfiguration"] if public else dict.fromkeys(_PRIVATE, False)
        )
        state["Encryption"] = _default_encryption(secret)
        if self.versioning is not None:
            tagging = ctx.aws.read("s3", "get_bucket_versioning", gone, Bucket=self.name)
            state["Versioning"] = (tagging or {}).get("Status", "Suspended")
        return self.with_keep(state)

    def desired(self, ctx: Context, current: State | None) -> State:
        algorithm = "aws:kms" if self.kms_key else "AES256"
        return given(
            PublicAccessBlock=dict.fromkeys(_PRIVATE, self.block_public_access),
            Encryption=given(SSEAlgorithm=algorithm, KMSMasterKeyID=self.kms_key),
            Keep=ctx.owner.keep,
            Versioning=(
                None if self.versioning is None else "Enabled" if self.versioning else "Suspended"
            ),
        )

    def apply(self, ctx: Context, change: Change) -> None:
        if change.removes:
            self._remove(ctx)
            return
        wanted = change.after or {}
        if change.creates:
            ctx.aws.call(
                "s3",
                "create_bucket",
                Bucket=self.name,
                CreateBucketConfiguration=self._at_creation(ctx),
            )
        if change.touches("PublicAccessBlock"):
            ctx.aws.call(
                "s3",
                "put_public_access_block",
                Bucket=self.name,
                PublicAccessBlockConfiguration=wanted["PublicAccessBlock"],
            )
        if change.touches("Encryption"):
            rule = {
                "ApplyServerSideEncryptionByDefault": wanted["Encryption"],
                "BucketKeyEnabled": bool(self.kms_key),
            }
            ctx.aws.call(
                "s3",
                "put_bucket_encryption",
                Bucket=self.name,
                ServerSideEncryptionConfiguration={"Rules": [rule]},
            )
        if (
            "Versioning" in wanted
            and change.touches("Versioning")
            and not (change.creates and not self.versioning)
        ):
            ctx.aws.call(
                "s3",
                "put_bucket_versioning",
                Bucket=self.name,
                VersioningConfiguration={"Status": wanted["Versioning"]},
            )
        self.update_keep(ctx, change)

    def set_tag(self, ctx: Context, state: State, key: str, value: str) -> None:
        self._put_tags(ctx, {**plain(state["Tags"]), key: value})

    def remove_tag(self, ctx: Context, state: State, key: str) -> None:
        tags = plain(state["Tags"])
        self._put_tags(ctx, {name: tags[name] for name in tags if name != key})

    def _put_tags(self, ctx: Context, tags: dict[str, str]) -> None:
        """S3 takes all tags of a bucket at once."""
        ctx.aws.call(
            "s3", "put_bucket_tagging", Bucket=self.name, Tagging={"TagSet": spelled(tags)}
        )

    def contents(self, ctx: Context, state: State) -> str:
        return contents.bucket(ctx.aws, self.name)

    def label(self, state: State) -> str:
        return f"s3://{self.name}"

    def _exists(self, ctx: Context) -> bool:
        try:
            return (
                ctx.aws.read("s3", "head_bucket", ("404", "NoSuchBucket"), Bucket=self.name)
                is not None
            )
        except Refused as refusal:
            if refusal.code not in ("403", "AccessDenied"):
                raise
            raise Failed(
                f"s3://{self.name} belongs to another account (bucket names are taken for all of"
                f" AWS, so ours may need another), or this caller may not look at it: {refusal}"
            ) from None

    def _at_creation(self, ctx: Context) -> State:
        """Our mark is on it from its first moment; us-east-1 is the one region that must not be
        named."""
        region = {} if ctx.aws.region == "us-east-1" else {"LocationConstraint": ctx.aws.region}
        return {**region, "Tags": spelled(ctx.owner.tags(self.name))}

    def _remove(self, ctx: Context) -> None:
        if self.empty_on_delete:
            empty(ctx, self.name)
        elif holds_something(ctx, self.name):
            raise HoldsData(
                f"s3://{self.name} is not empty; empty it, or set empty_on_delete: true to delete"
                " what is in it"
            )
        ctx.aws.call("s3", "delete_bucket", Bucket=self.name)


def _default_encryption(answer: State | None) -> State:
    rules = (answer or {}).get("ServerSideEncryptionConfiguration", {}).get("Rules") or [{}]
    return dict(rules[0].get("ApplyServerSideEncryptionByDefault") or {})
