"""aws.eks_cluster: a Kubernetes control plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.aws import _eks

if TYPE_CHECKING:
    from playrunner.run.context import Context

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
_ENDPOINT = ("endpointPublicAccess", "endpointPrivateAccess", "publicAccessCidrs")
_NETWORK = ("subnetIds", "securityGroupIds")


class EksCluster(_eks.EksModule):
    """A control plane; it is upgraded one minor version at a time, and logging and endpoint are
    changed in place."""

    takes_along: ClassVar[bool] = True
    # A control plane takes about 10 minutes, each version of an upgrade about as long
    settle_seconds: ClassVar[float] = 3600

    name: str  # the cluster's name
    role_arn: str  # the role by which EKS works in the account
    subnets: list[str]  # in at least two zones; EKS puts its interfaces there
    # Kubernetes' version, as 1.33; by default EKS's own choice, and then left alone
    version: str | None = None
    security_groups: list[str] = []  # more security groups for EKS's interfaces
    public_access: bool = True  # whether the endpoint can be reached from outside the VPC
    private_access: bool = True  # whether it can be reached inside without leaving it
    public_cidrs: list[str] = ["0.0.0.0/0"]  # from where the public endpoint can be reached
    # Which control-plane logs go to CloudWatch: api, audit, authenticator, ...
    logging: list[str] | None = None
    # Who is let in by what
    authentication_mode: Literal["API", "API_AND_CONFIG_MAP", "CONFIG_MAP"] = "API_AND_CONFIG_MAP"
    creator_is_admin: bool = True  # the principal that creates the cluster may do everything in it
    # STANDARD upgrades at the end of support, EXTENDED costs more
    support: Literal["STANDARD", "EXTENDED"] | None = None
    service_cidr: str = ""  # addresses for Kubernetes services; only when it is made
    deletion_protection: bool | None = None  # whether EKS refuses to delete it
    tags: dict[str, str] = {}  # more tags, beside the owner's

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        unknown = sorted(set(arguments.get("logging") or ()) - set(LOG_TYPES))
        return (
            f"there is no control-plane log {unknown[0]}; there are {', '.join(LOG_TYPES)}"
            if unknown
            else None
        )

    def observe(self, ctx: Context) -> State | None:
        answer = ctx.aws.read("eks", "describe_cluster", missing=_eks.MISSING, name=self.name)
        return observed(answer["cluster"]) if answer else None

    def desired(self, ctx: Context, current: State | None) -> State:
        net = {
            "subnetIds": sorted(self.subnets),
            "securityGroupIds": sorted(self.security_groups),
            "endpointPublicAccess": self.public_access,
            "endpointPrivateAccess": self.private_access,
            "publicAccessCidrs": sorted(self.public_cidrs),
        }
        if not self.public_access:
            del net["publicAccessCidrs"]
        wanted: State = {
            "resourcesVpcConfig": net,
            "accessConfig": {"authenticationMode": self.authentication_mode},
            "tags": dict(self.tags),
        }
        choices = {
            "version": self.version,
            "enabledLogTypes": None if self.logging is None else sorted(self.logging),
            "upgradePolicy": {"supportType": self.support} if self.support else None,
            "deletionProtection": self.deletion_protection,
        }
        wanted.update({key: value for key, value in choices.items() if value is not None})
        if current is not None:
            self._refuse_impossible(current)
        return wanted

    def apply(self, ctx: Context, change: Change) -> None:
        if change.removes or _eks.never_was(change.observed):
            ctx.aws.call("eks", "delete_cluster", name=self.name)
        elif change.creates:
            self._create(ctx, change.after or {})
        else:
            self._update_in_place(ctx, change)

    def label(self, state: State) -> str:
        return str(state.get("name", self.name))

    def _refuse_impossible(self, current: State) -> None:
        remedy = (
            "it is fixed when the cluster is created; delete the cluster and create it again, or"
            " declare what is there"
        )
        if current.get("roleArn") != self.role_arn:
            raise Failed(
                f"cluster {self.name} has the role {current.get('roleArn')}, not {self.role_arn}:"
                f" {remedy}"
            )
        if self.version and _minor(self.version) < _minor(current["version"]):
            raise Failed(
                f"cluster {self.name} has Kubernetes {current['version']}, and EKS never goes back"
                f" to {self.version}; declare {current['version']} or later"
            )

    def _create(self, ctx: Context, wanted: State) -> None:
        access = {
            **wanted["accessConfig"],
            "bootstrapClusterCreatorAdminPermissions": self.creator_is_admin,
        }
        more: State = {
            key: wanted[key]
            for key in ("version", "upgradePolicy", "deletionProtection")
            if key in wanted
        }
        if self.service_cidr:
            more["kubernetesNetworkConfig"] = {"serviceIpv4Cidr": self.service_cidr}
        if "enabledLogTypes" in wanted:
            more["logging"] = _logging(wanted["enabledLogTypes"])
        ctx.aws.call(
            "eks",
            "create_cluster",
            token="clientRequestToken",
            name=self.name,
            roleArn=self.role_arn,
            resourcesVpcConfig=wanted["resourcesVpcConfig"],
            accessConfig=access,
            tags={**wanted["tags"], **ctx.owner.tags(self.name)},
            **more,
        )

    def _update_in_place(self, ctx: Context, change: Change) -> None:
        """One update at a time, as EKS takes them; what still differs afterwards is applied in the
        next attempt."""
        wanted, current = change.after or {}, change.observed or {}
        _eks.update_tags(ctx, current["arn"], change)
        net, current_net = wanted["resourcesVpcConfig"], current["resourcesVpcConfig"]
        for part in (_ENDPOINT, _NETWORK):  # EKS takes these in separate updates
            differing = {
                key: net[key] for key in part if key in net and net[key] != current_net.get(key)
            }
            if differing:
                # Ranges are refused while there is no public endpoint; with one they are always
                # said along.
                together = (
                    {key: net[key] for key in part if key in net}
                    if part is _ENDPOINT
                    else differing
                )
                return self._update(ctx, resourcesVpcConfig=together)
        for key in ("accessConfig", "upgradePolicy", "deletionProtection"):
            if key in wanted and change.touches(key):
                return self._update(ctx, **{key: wanted[key]})
        if change.touches("enabledLogTypes"):
            return self._update(ctx, logging=_logging(wanted["enabledLogTypes"]))
        if change.touches("version"):
            ctx.aws.call(
                "eks",
                "update_cluster_version",
                token="clientRequestToken",
                name=self.name,
                version=f"1.{_minor(current['version']) + 1}",
            )

    def _update(self, ctx: Context, **part: Any) -> None:
        ctx.aws.call(
            "eks", "update_cluster_config", token="clientRequestToken", name=self.name, **part
        )


def observed(cluster: State) -> State:
    """A cluster as EKS describes it, with lists in an order that can be compared, and the logs that
    are on."""
    net = cluster["resourcesVpcConfig"]
    in_order = {
        key: sorted(net.get(key) or [])
        for key in ("subnetIds", "securityGroupIds", "publicAccessCidrs")
    }
    logs = (cluster.get("logging") or {}).get("clusterLogging") or []
    on = sorted(kind for entry in logs if entry.get("enabled") for kind in entry.get("types", ()))
    return {**cluster, "resourcesVpcConfig": {**net, **in_order}, "enabledLogTypes": on}


def _logging(on: list[str]) -> dict[str, Any]:
    off = [kind for kind in LOG_TYPES if kind not in on]
    groups = [
        {"types": types, "enabled": enabled}
        for types, enabled in ((list(on), True), (off, False))
        if types
    ]
    return {"clusterLogging": groups}


def _minor(version: str) -> int:
    return int(str(version).split(".")[1])
