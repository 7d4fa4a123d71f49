"""aws.oidc_provider: IAM's trust in the tokens of a cluster's service accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from playrunner.aws.tags import plain, spelled
from playrunner.hostside.state import Change, State
from playrunner.modules.aws import _iam
from playrunner.modules.aws._identity import IdentityModule

if TYPE_CHECKING:
    from playrunner.run.context import Context


class OidcProvider(IdentityModule):
    """The IAM provider for a cluster's OIDC issuer, so that service accounts can have roles."""

    identity: ClassVar[tuple[str, ...]] = ("url",)

    url: str  # the cluster's issuer (identity.oidc.issuer)
    name: str = ""  # the Name tag; by default the last part of the issuer
    client_ids: list[str] = ["sts.amazonaws.com"]  # the audiences that tokens may be made out to
    tags: dict[str, str] = {}  # more tags, beside the owner's

    def observe(self, ctx: Context) -> State | None:
        arn = _iam.oidc_provider_arn(ctx, self.url)
        provider = ctx.aws.read(
            "iam",
            "get_open_id_connect_provider",
            missing=_iam.MISSING,
            OpenIDConnectProviderArn=arn,
        )
        if provider is None:
            return None
        fields = {key: value for key, value in provider.items() if key != "ResponseMetadata"}
        return {
            **fields,
            "Arn": arn,
            "ClientIDList": sorted(provider["ClientIDList"]),
            "Tags": plain(provider.get("Tags")),
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        return {
            "ClientIDList": sorted(self.client_ids),
            "Tags": {**plain(self.tags), **self.region_tag(ctx)},
        }

    def apply(self, ctx: Context, change: Change) -> None:
        arn, wanted = _iam.oidc_provider_arn(ctx, self.url), change.after or {}
        if change.removes:
            ctx.aws.call("iam", "delete_open_id_connect_provider", OpenIDConnectProviderArn=arn)
        elif change.creates:
            # No thumbprint: IAM trusts the authorities that sign EKS issuers, and finds the
            # thumbprint itself.
            ctx.aws.call(
                "iam",
                "create_open_id_connect_provider",
                Url=self.url,
                ClientIDList=wanted["ClientIDList"],
                Tags=spelled(
                    {**wanted["Tags"], **ctx.owner.tags(self.name or self.url.rpartition("/")[2])}
                ),
            )
        else:
            if change.touches("Tags"):
                ctx.aws.call(
                    "iam",
                    "tag_open_id_connect_provider",
                    OpenIDConnectProviderArn=arn,
                    Tags=spelled(wanted["Tags"]),
                )
            had, have = set((change.observed or {})["ClientIDList"]), set(wanted["ClientIDList"])
            for client in sorted(have - had):
                ctx.aws.call(
                    "iam",
                    "add_client_id_to_open_id_connect_provider",
                    OpenIDConnectProviderArn=arn,
                    ClientID=client,
                )
            for client in sorted(had - have):
                ctx.aws.call(
                    "iam",
                    "remove_client_id_from_open_id_connect_provider",
                    OpenIDConnectProviderArn=arn,
                    ClientID=client,
                )

    def label(self, state: State) -> str:
        return str(state.get("Arn", self.url)).rpartition("/")[2]
