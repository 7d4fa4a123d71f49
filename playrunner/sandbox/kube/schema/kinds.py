"""What can be there: the built-in kinds, and those that custom resource definitions add."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any

from playrunner.sandbox.kube.schema.schema import Schema, definitions

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True)
class Kind:
    """One kind in one version, as it is served."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    schema: Schema = field(default_factory=dict, compare=False)
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    counts_generations: bool = False
    type_name: str = ""  # the built-in type; empty for a custom kind
    list_kind: str = ""
    columns: tuple[dict[str, Any], ...] = field(default=(), compare=False)
    scale: dict[str, str] = field(
        default_factory=dict, compare=False
    )  # the paths of a custom kind's scale

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def stored_as(self) -> tuple[str, str]:
        """Versions of one kind share their objects; events are the same in both of their groups."""
        return (
            ("", "events")
            if self.qualified == "events.events.k8s.io"
            else (self.group, self.plural)
        )

    @property
    def custom(self) -> bool:
        return not self.type_name

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources


class Kinds:
    """Every kind that is served now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._builtin = {(one.group, one.version, one.plural): one for one in _builtin()}
        self._custom: dict[str, tuple[Kind, ...]] = {}
        self._all = dict(self._builtin)

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._all.get((group, version, plural))

    def serves(self, group: str, version: str) -> bool:
        return any(one.group == group and one.version == version for one in self._all.values())

    def of(self, api_version: str, kind: str) -> Kind | None:
        """By the words of a manifest."""
        group, _, version = api_version.rpartition("/")
        return next(
            (
                one
                for one in self.all()
                if (one.group, one.version, one.kind) == (group, version, kind)
            ),
            None,
        )

    def all(self) -> list[Kind]:
        return list(self._all.values())

    def one_of_each(self) -> list[Kind]:
        """One version of every kind that holds objects."""
        return list(
            {one.stored_as: one for one in reversed(self.all()) if "list" in one.verbs}.values()
        )

    def versions(self) -> dict[str, list[str]]:
        """The versions of every group, preferred first."""
        by_group: dict[str, list[str]] = {}
        for kind in self.all():
            if kind.version not in by_group.setdefault(kind.group, []):
                by_group[kind.group].append(kind.version)
        return {
            group: sorted(versions, key=_priority, reverse=True)
            for group, versions in by_group.items()
        }

    def serve_custom(self, definition: str, kinds: tuple[Kind, ...]) -> None:
        """What a definition adds; nothing when it is gone."""
        with self._lock:
            self._custom[definition] = kinds
            added = {
                (one.group, one.version, one.plural): one
                for group in self._custom.values()
                for one in group
            }
            self._all = {**self._builtin, **added}


def _priority(version: str) -> tuple[int, int, int]:
    """v2 before v1, v1 before v1beta2, v1beta2 before v1alpha1."""
    for rank, word in ((1, "beta"), (0, "alpha")):
        major, found, minor = version.partition(word)
        if found:
            return rank, int(major.lstrip("v") or 0), int(minor or 0)
    digits = version.lstrip("v")
    return (2, int(digits), 0) if digits.isdigit() else (-1, 0, 0)


def _builtin() -> list[Kind]:
    return [_row(line) for line in _TABLE.strip().splitlines()]


def _row(line: str) -> Kind:
    api_version, package, kind, plural, scope, short, *rest = line.split()
    group, _, version = api_version.rpartition("/")
    words = dict(word.split("=") for word in rest)
    type_name = f"{group.split('.')[0]}.{version}.{kind}" if package == "-" else f"{package}.{kind}"
    base = Kind(
        group,
        version,
        kind,
        plural,
        scope == "ns",
        definitions()[type_name],
        kind.lower(),
        type_name=type_name,
        list_kind=f"{kind}List",
    )
    return replace(
        base,
        short_names=() if short == "-" else tuple(short.split(",")),
        subresources=tuple(filter(None, words.get("sub", "").split(","))),
        categories=_CATEGORIES[words.get("in", "")],
        counts_generations=words.get("gen") == "yes",
        verbs=tuple(words["verbs"].split(",")) if "verbs" in words else ALL_VERBS,
    )


_CATEGORIES = {"": (), "all": ("all",), "ext": ("api-extensions",)}
# API version, package of its type (-: named after the group), kind, plural, scope, short names;
# sub: subresources, in: category, gen: counts generations
_TABLE = """
v1 core.v1 Namespace namespaces - ns \
    sub=status,finalize verbs=create,delete,get,list,patch,update,watch
v1 core.v1 Pod pods ns po \
    sub=status,log,exec,attach,portforward,proxy,eviction,binding,ephemeralcontainers in=all
v1 core.v1 Service services ns svc sub=status,proxy in=all
v1 core.v1 Endpoints endpoints ns ep
v1 core.v1 ConfigMap configmaps ns cm
v1 core.v1 Secret secrets ns -
v1 core.v1 ServiceAccount serviceaccounts ns sa sub=token
v1 core.v1 Node nodes - no sub=status,proxy
v1 core.v1 PersistentVolume persistentvolumes - pv sub=status
v1 core.v1 PersistentVolumeClaim persistentvolumeclaims ns pvc sub=status
v1 core.v1 Event events ns ev
v1 core.v1 ResourceQuota resourcequotas ns quota sub=status
v1 core.v1 LimitRange limitranges ns limits
v1 core.v1 ReplicationController replicationcontrollers ns rc sub=status,scale in=all gen=yes
v1 core.v1 PodTemplate podtemplates ns - gen=yes
v1 core.v1 Binding bindings ns - verbs=create
apps/v1 apps.v1 Deployment deployments ns deploy sub=status,scale in=all gen=yes
apps/v1 apps.v1 DaemonSet daemonsets ns ds sub=status in=all gen=yes
apps/v1 apps.v1 StatefulSet statefulsets ns sts sub=status,scale in=all gen=yes
apps/v1 apps.v1 ReplicaSet replicasets ns rs sub=status,scale in=all gen=yes
apps/v1 apps.v1 ControllerRevision controllerrevisions ns -
batch/v1 batch.v1 Job jobs ns - sub=status in=all gen=yes
batch/v1 batch.v1 CronJob cronjobs ns cj sub=status in=all gen=yes
autoscaling/v2 autoscaling.v2 HorizontalPodAutoscaler horizontalpodautoscalers ns hpa \
    sub=status in=all
rbac.authorization.k8s.io/v1 rbac.v1 Role roles ns -
rbac.authorization.k8s.io/v1 rbac.v1 RoleBinding rolebindings ns -
rbac.authorization.k8s.io/v1 rbac.v1 ClusterRole clusterroles - -
rbac.authorization.k8s.io/v1 rbac.v1 ClusterRoleBinding clusterrolebindings - -
storage.k8s.io/v1 storage.v1 StorageClass storageclasses - sc
storage.k8s.io/v1 storage.v1 CSIDriver csidrivers - -
storage.k8s.io/v1 storage.v1 CSINode csinodes - -
storage.k8s.io/v1 storage.v1 VolumeAttachment volumeattachments - - sub=status
scheduling.k8s.io/v1 scheduling.v1 PriorityClass priorityclasses - pc gen=yes
policy/v1 policy.v1 PodDisruptionBudget poddisruptionbudgets ns pdb sub=status gen=yes
networking.k8s.io/v1 networking.v1 Ingress ingresses ns ing sub=status gen=yes
networking.k8s.io/v1 networking.v1 IngressClass ingressclasses - - gen=yes
networking.k8s.io/v1 networking.v1 NetworkPolicy networkpolicies ns netpol gen=yes
coordination.k8s.io/v1 coordination.v1 Lease leases ns -
discovery.k8s.io/v1 discovery.v1 EndpointSlice endpointslices ns - gen=yes
node.k8s.io/v1 node.v1 RuntimeClass runtimeclasses - -
events.k8s.io/v1 events.v1 Event events ns ev
admissionregistration.k8s.io/v1 - MutatingWebhookConfiguration mutatingwebhookconfigurations \
    - - in=ext gen=yes
admissionregistration.k8s.io/v1 - ValidatingWebhookConfiguration validatingwebhookconfigurations \
    - - in=ext gen=yes
admissionregistration.k8s.io/v1 - ValidatingAdmissionPolicy validatingadmissionpolicies \
    - - sub=status in=ext gen=yes
admissionregistration.k8s.io/v1 - ValidatingAdmissionPolicyBinding \
    validatingadmissionpolicybindings - - in=ext gen=yes
apiextensions.k8s.io/v1 apiextensions.v1 CustomResourceDefinition customresourcedefinitions \
    - crd,crds sub=status in=ext gen=yes
apiregistration.k8s.io/v1 apiregistration.v1 APIService apiservices - - sub=status in=ext
authorization.k8s.io/v1 authorization.v1 SelfSubjectAccessReview selfsubjectaccessreviews - - \
    verbs=create
authorization.k8s.io/v1 authorization.v1 SelfSubjectRulesReview selfsubjectrulesreviews - - \
    verbs=create
authorization.k8s.io/v1 authorization.v1 SubjectAccessReview subjectaccessreviews - - verbs=create
authentication.k8s.io/v1 authentication.v1 TokenReview tokenreviews - - verbs=create
authentication.k8s.io/v1 authentication.v1 SelfSubjectReview selfsubjectreviews - - verbs=create
"""
