"""Admission webhooks: really called, over HTTPS, by their URL or by the service that they name."""

from __future__ import annotations

import base64
import binascii
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.problems import Refusal
from playrunner.sandbox.kube.store.cluster import Cluster, new_uid
from playrunner.sandbox.kube.store.patches import json_patch
from playrunner.sandbox.kube.store.store import Object
from playrunner.sandbox.kube.store.write_options import WriteOptions
from playrunner.sandbox.kube.wire.selectors import by_selector

GROUP = "admissionregistration.k8s.io"
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
USER = {"username": "sandbox-admin", "groups": ["system:masters", "system:authenticated"]}


class _Unreachable(Exception):
    """The webhook gave no usable answer."""


def mutated(
    cluster: Cluster, kind: Kind, obj: Object, before: Object | None, options: WriteOptions
) -> Object:
    """The object after every mutating webhook that wants it; the same one when none changed it."""
    for hook in _matching(
        cluster, "mutatingwebhookconfigurations", kind, obj, before, options.subresource
    ):
        answer = _asked(cluster, hook, kind, obj, before, options)
        if answer.get("patch"):
            obj = json_patch(obj, json.loads(base64.b64decode(answer["patch"])))
    return obj


def validate(
    cluster: Cluster, kind: Kind, obj: Object | None, before: Object | None, options: WriteOptions
) -> None:
    """Refused when one of the validating webhooks refuses; without an object, it is a removal."""
    for hook in _matching(
        cluster, "validatingwebhookconfigurations", kind, obj, before, options.subresource
    ):
        _asked(cluster, hook, kind, obj, before, options)


def _matching(
    cluster: Cluster,
    plural: str,
    kind: Kind,
    obj: Object | None,
    before: Object | None,
    subresource: str,
) -> Iterator[dict[str, Any]]:
    if kind.group == GROUP:
        return
    for configuration in cluster.store.list((GROUP, plural))[0]:
        for hook in configuration.get("webhooks", ()):
            rules = hook.get("rules", ())
            if concerns(cluster, hook, rules, kind, (obj, before), subresource):
                yield hook


def concerns(
    cluster: Cluster,
    selecting: dict[str, Any],
    rules: Iterable[dict[str, Any]],
    kind: Kind,
    change: tuple[Object | None, Object | None],
    subresource: str,
) -> bool:
    """Whether one of the rules is about this change (the object after and before it), and the
    selectors beside them choose its object and namespace."""
    subject = change[0] if change[0] is not None else change[1]
    assert subject is not None
    namespace_name = subject["metadata"].get("namespace") if kind.namespaced else None
    namespace = (
        cluster.store.get(("", "namespaces"), ("", namespace_name)) if namespace_name else None
    )
    if kind.type_name == "core.v1.Namespace":
        namespace = subject
    here = namespace is None or by_selector(selecting.get("namespaceSelector", {}))(namespace)
    return (
        any(_rule_fits(rule, kind, _operation(*change), subresource) for rule in rules)
        and here
        and by_selector(selecting.get("objectSelector", {}))(subject)
    )


def _operation(obj: Object | None, before: Object | None) -> str:
    return "DELETE" if obj is None else "CREATE" if before is None else "UPDATE"


def _rule_fits(rule: dict[str, Any], kind: Kind, operation: str, subresource: str) -> bool:
    resource = f"{kind.plural}/{subresource}" if subresource else kind.plural
    scope = rule.get("scope", "*")
    return (
        _among(operation, rule.get("operations"))
        and _among(kind.group, rule.get("apiGroups"))
        and _among(kind.version, rule.get("apiVersions"))
        and any(
            fnmatchcase(resource, pattern) or pattern == "*/*"
            for pattern in rule.get("resources", ())
            if subresource or "/" not in pattern
        )
        and (scope == "*" or (scope == "Namespaced") == kind.namespaced)
    )


def _among(value: str, allowed: list[str] | None) -> bool:
    return "*" in (allowed or ()) or value in (allowed or ())


def _asked(
    cluster: Cluster,
    hook: dict[str, Any],
    kind: Kind,
    obj: Object | None,
    before: Object | None,
    options: WriteOptions,
) -> dict[str, Any]:
    request = review_request(kind, obj, before, options)
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    try:
        answer = _called(cluster, hook, review)
    except _Unreachable as error:
        if hook.get("failurePolicy") == "Ignore":
            return {}
        why = (
            f'Internal error occurred: failed calling webhook "{hook["name"]}": failed to call'
            f" webhook: {error}"
        )
        raise Refusal(
            500, "InternalError", why, {"causes": [{"message": why.partition(": ")[2]}]}
        ) from error
    options.warnings.extend(answer.get("warnings") or ())
    if not answer.get("allowed"):
        status = answer.get("status") or {}
        said = status.get("message") or status.get("reason")
        why = f'admission webhook "{hook["name"]}" denied the request' + (
            f": {said}" if said else " without explanation"
        )
        code = status.get("code") or 400
        raise Refusal(
            code if code >= 400 else 400,
            status.get("reason") or ("BadRequest" if code == 400 else ""),
            why,
        )
    return answer


def review_request(
    kind: Kind, obj: Object | None, before: Object | None, options: WriteOptions
) -> dict[str, Any]:
    """What is told of a write to those who review it."""
    subject = obj if obj is not None else before
    assert subject is not None
    names = {"group": kind.group, "version": kind.version}
    request: dict[str, Any] = {
        "uid": new_uid(),
        "kind": {**names, "kind": kind.kind},
        "resource": {**names, "resource": kind.plural},
        "requestKind": {**names, "kind": kind.kind},
        "requestResource": {**names, "resource": kind.plural},
        "name": subject["metadata"].get("name", ""),
        "operation": _operation(obj, before),
        "userInfo": USER,
        "object": obj,
        "oldObject": before,
        "dryRun": options.dry_run,
        "options": {"kind": _OPTIONS[_operation(obj, before)], "apiVersion": "meta.k8s.io/v1"},
    }
    if kind.namespaced:
        request["namespace"] = subject["metadata"].get("namespace", "")
    if options.subresource:
        request |= {"subResource": options.subresource, "requestSubResource": options.subresource}
    return request


def _called(cluster: Cluster, hook: dict[str, Any], review: dict[str, Any]) -> dict[str, Any]:
    url = _address(cluster, hook["clientConfig"])
    request = urllib.request.Request(
        url, json.dumps(review).encode(), {"Content-Type": "application/json"}
    )
    handlers = [
        urllib.request.ProxyHandler({}),
        urllib.request.HTTPSHandler(context=_trust(cluster, hook["clientConfig"])),
    ]
    try:
        with urllib.request.build_opener(*handlers).open(
            request, timeout=hook.get("timeoutSeconds", 10)
        ) as reply:
            answer = json.load(reply)
    except urllib.error.HTTPError as error:
        raise _Unreachable(
            f'the server responded with status {error.code}: Post "{url}"'
        ) from error
    except (OSError, ValueError) as error:
        raise _Unreachable(f'Post "{url}": {_cause(error)}') from error
    response = answer.get("response") if isinstance(answer, dict) else None
    if not isinstance(response, dict) or response.get("uid") != review["request"]["uid"]:
        raise _Unreachable(f'expected response.uid="{review["request"]["uid"]}"')
    return response


def _cause(error: Exception) -> str:
    """In the words that a Go program has for it."""
    reason = getattr(error, "reason", error)
    if isinstance(reason, ConnectionRefusedError):
        return "dial tcp: connect: connection refused"
    if isinstance(reason, TimeoutError):
        return "context deadline exceeded"
    return str(reason)


def _trust(cluster: Cluster, config: dict[str, Any]) -> ssl.SSLContext:
    bundle = config.get("caBundle")
    try:
        context = ssl.create_default_context(
            cadata=base64.b64decode(bundle).decode() if bundle else None
        )
    except (ssl.SSLError, binascii.Error, ValueError) as error:
        raise _Unreachable(f"unable to load root certificates: {error}") from error
    if cluster.certificate is not None:  # the sandbox's own webhooks require it
        context.load_cert_chain(*cluster.certificate)
    if not bundle:
        return context
    context.check_hostname = (
        "service" not in config
    )  # a service's address is ours, its name is the cluster's
    return context


def _address(cluster: Cluster, config: dict[str, Any]) -> str:
    """Where to call: the URL, or an address behind the service; a service without one is refused as
    a server does."""
    if config.get("url"):
        return str(config["url"])
    service = config["service"]
    name, place = service["name"], (service["namespace"], service["name"])
    path, port = service.get("path", "").lstrip("/"), service.get("port", 443)
    url = f"https://{name}.{service['namespace']}.svc:{port}/{path}?timeout=10s"
    service_object = cluster.store.get(("", "services"), place)
    if service_object is None:
        raise _Unreachable(f'Post "{url}": service "{name}" not found')
    endpoints = cluster.store.get(("", "endpoints"), place) or {}
    target = next(
        (
            service_port.get("targetPort", port)
            for service_port in service_object["spec"].get("ports", ())
            if service_port["port"] == port
        ),
        None,
    )
    for subset in endpoints.get("subsets", ()):
        for address in subset.get("addresses", ()):
            ports = subset.get("ports", ())
            number = next(
                (
                    service_port["port"]
                    for service_port in ports
                    if target in (service_port["port"], service_port.get("name"))
                ),
                ports[0]["port"] if ports else port,
            )
            return f"https://{address['ip']}:{number}/{path}"
    raise _Unreachable(f'Post "{url}": no endpoints available for service "{name}"')
