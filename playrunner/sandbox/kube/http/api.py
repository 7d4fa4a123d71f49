"""One request, one answer: who may ask, what the path means, and the verbs on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.sandbox.kube.http import discovery, openapi, reviews, subresources, tables
from playrunner.sandbox.kube.http.authentication import Authentication, is_open
from playrunner.sandbox.kube.http.authorization import authorize
from playrunner.sandbox.kube.http.listing import page, selected
from playrunner.sandbox.kube.http.routes import Route, route
from playrunner.sandbox.kube.http.watching import watch
from playrunner.sandbox.kube.http.write_requests import apply_document, write_options
from playrunner.sandbox.kube.schema.problems import (
    Refusal,
    Undecodable,
    bad_request,
    method_not_allowed,
    not_found,
)
from playrunner.sandbox.kube.schema.structure import Shaping
from playrunner.sandbox.kube.store import apply, events
from playrunner.sandbox.kube.store.cluster import VERSION, Cluster
from playrunner.sandbox.kube.store.deletion import DeleteOptions, delete
from playrunner.sandbox.kube.store.patches import json_patch, merge_patch
from playrunner.sandbox.kube.store.store import Object
from playrunner.sandbox.kube.store.strategic import strategic_patch
from playrunner.sandbox.kube.store.write_checks import not_applicable
from playrunner.sandbox.kube.store.write_options import WriteOptions
from playrunner.sandbox.kube.store.write_path import Writer
from playrunner.sandbox.kube.wire.messages import Reply, Request, Stream, Upgrade

Answer = Reply | Stream | Upgrade


class Api:
    """Answers requests on one cluster."""

    def __init__(self, cluster: Cluster, authentication: Authentication) -> None:
        self.cluster, self.authentication = cluster, authentication
        self.writer = Writer(cluster)

    def answer(self, request: Request) -> Answer:
        """To an authenticated client. Refusals are raised."""
        if request.path in ("/version", "/version/"):
            return Reply(VERSION)
        if is_open(request.path):
            return Reply(b"ok", content_type="text/plain; charset=utf-8")
        found = discovery.answer(self.cluster.kinds, request) or openapi.answer(
            self.cluster.kinds, request
        )
        return found or self._on(route(self.cluster.kinds, request.path), request)

    def _on(self, at: Route, request: Request) -> Answer:
        authorize(self.cluster, at, request, self.authentication.account(request))
        if at.subresource and at.subresource != "status":
            return subresources.answer(self.cluster, self.writer, at, request)
        if at.kind.verbs == ("create",):
            return reviews.answer(at.kind, request, self.authentication)
        verbs: dict[str, Callable[[Route, Request], Answer]]
        if at.name:
            verbs = {
                "GET": self._get,
                "PUT": self._put,
                "PATCH": self._patch,
                "DELETE": self._delete,
            }
        else:
            verbs = {"GET": self._list, "POST": self._create, "DELETE": self._delete_many}
        if request.method not in verbs or (at.subresource and request.method in ("POST", "DELETE")):
            raise method_not_allowed()
        return verbs[request.method](at, request)

    def _get(self, at: Route, request: Request) -> Answer:
        if at.watch:
            return self._list(at, request)
        found = self.cluster.store.get(at.kind.stored_as, at.place)
        if found is None:
            raise not_found(at.kind, at.name)
        return self._shown(at, request, [found], single=True)

    def _list(self, at: Route, request: Request) -> Answer:
        matches = selected(at, request)
        if at.watch or request.flag("watch"):
            as_table = tables.wanted(request)

            def shown(objects: list[Object]) -> Any:
                return tables.table(at.kind, objects, request) if as_table else objects[0]

            pieces = watch(self.cluster, at.kind, at.namespace, matches, request, shown)
            return Stream(pieces, "application/json;stream=watch")
        there, version = self.cluster.store.list(at.kind.stored_as, at.namespace)
        there = [one for one in there if matches(one)]
        there, metadata = page(there, version, request)
        return self._shown(at, request, there, metadata=metadata)

    def _shown(
        self,
        at: Route,
        request: Request,
        there: list[Object],
        *,
        single: bool = False,
        metadata: Any = None,
        code: int = 200,
        options: WriteOptions | None = None,
    ) -> Reply:
        headers = {"Warning": _warnings(options.warnings)} if options and options.warnings else {}
        there = [events.served(at.kind, each) for each in there]
        if tables.wanted(request):
            table = tables.table(at.kind, there, request)
            return Reply(
                {**table, "metadata": metadata or table["metadata"]}, code, headers=headers
            )
        if tables.metadata_only(request):
            there = [tables.only_metadata(each) for each in there]
        if single:
            return Reply(there[0], code, headers=headers)
        listed = [
            {name: value for name, value in each.items() if name not in ("apiVersion", "kind")}
            for each in there
        ]
        items = there if at.kind.custom or tables.metadata_only(request) else listed
        value = {
            "kind": at.kind.list_kind,
            "apiVersion": at.kind.api_version,
            "metadata": metadata,
            "items": items,
        }
        if tables.metadata_only(request):
            value |= {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
        return Reply(value, code)

    def _create(self, at: Route, request: Request) -> Answer:
        if at.kind.namespaced and not at.namespace:
            raise method_not_allowed()
        options = write_options(request)
        made = self.writer.create(at.kind, at.namespace, request.document(), options)
        return self._shown(at, request, [made], single=True, code=201, options=options)

    def _put(self, at: Route, request: Request) -> Answer:
        body, options = request.document(), write_options(request, at.subresource)
        if (
            not isinstance(body, dict)
            or (body.get("metadata") or {}).get("name", at.name) != at.name
        ):
            given = (body.get("metadata") or {}).get("name") if isinstance(body, dict) else body
            raise bad_request(
                f"the name of the object ({given}) does not match the name on the URL ({at.name})"
            )
        changed = self.writer.change(at.kind, at.place, lambda live: body, options, replaces=True)
        return self._shown(at, request, [changed], single=True, options=options)

    def _patch(self, at: Route, request: Request) -> Answer:
        form = request.headers.get("Content-Type", "").split(";")[0].strip()
        if form in ("application/apply-patch+yaml", "application/apply-patch+cbor"):
            return self._apply(at, request)
        patch, options = request.document(), write_options(request, at.subresource)

        def patched(live: Object) -> Object:
            live = events.served(at.kind, live)
            if form == "application/json-patch+json":
                result: Object = json_patch(live, patch)
            elif form == "application/merge-patch+json":
                result = merge_patch(live, patch)
            elif form == "application/strategic-merge-patch+json" and not at.kind.custom:
                result = strategic_patch(live, patch, events.schema(at.kind))
            else:
                known = (
                    "application/json-patch+json, application/merge-patch+json,"
                    " application/apply-patch+yaml"
                )
                why = (
                    "the body of the request was in an unknown format - accepted media types"
                    f" include: {known}"
                )
                raise Refusal(415, "UnsupportedMediaType", why)
            return result

        changed = self.writer.change(at.kind, at.place, patched, options)
        return self._shown(at, request, [changed], single=True, options=options)

    def _apply(self, at: Route, request: Request) -> Answer:
        if not request.option("fieldManager"):
            why = (
                'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required'
                " for apply patch"
            )
            raise Refusal(422, "Invalid", why)
        wanted = apply_document(request)
        options = write_options(request, at.subresource, operation="Apply")
        empty = apply.empty_maps(wanted)
        wanted = self._typed(at, wanted)
        force = request.flag("force")

        def applied(live: Object) -> Object:
            live = events.served(at.kind, live)
            return apply.applied(
                live, wanted, at.kind.schema, options.owner(at.kind), force=force, empty=empty
            )

        if self.cluster.store.get(at.kind.stored_as, at.place) is None:
            if at.subresource:
                raise not_found(at.kind, at.name)
            if (wanted.get("metadata") or {}).get("uid"):
                raise Refusal(
                    409,
                    "Conflict",
                    f'Operation cannot be fulfilled on {at.kind.qualified} "{at.name}":'
                    " uid mismatch: the provided object specified uid, and no existing object was"
                    " found",
                )
            base = {
                "apiVersion": at.kind.api_version,
                "kind": at.kind.kind,
                "metadata": {"name": at.name},
            }
            try:
                made = self.writer.create(at.kind, at.namespace, applied(base), options)
                return self._shown(at, request, [made], single=True, code=201, options=options)
            except Refusal as refusal:
                if refusal.reason != "AlreadyExists":
                    raise
        changed = self.writer.change(at.kind, at.place, applied, options)
        return self._shown(at, request, [changed], single=True, options=options)

    def _typed(self, at: Route, wanted: Any) -> Object:
        """What is applied, in the shape of its kind; nothing that the kind does not know can be
        owned."""
        if not isinstance(wanted, dict) or not wanted.get("apiVersion") or not wanted.get("kind"):
            raise bad_request(
                "error decoding YAML: Object 'apiVersion' and 'kind' must be set in an apply patch"
            )
        if wanted["kind"] != at.kind.kind or wanted["apiVersion"] != at.kind.api_version:
            raise bad_request(
                f"{wanted['apiVersion']}, Kind={wanted['kind']} cannot be applied as"
                f" {at.kind.api_version}, Kind={at.kind.kind}"
            )
        if (wanted.get("metadata") or {}).get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        if (wanted.get("metadata") or {}).get("name", at.name) != at.name:
            raise bad_request(
                f"the name of the object ({wanted['metadata']['name']}) does not match the name on"
                f" the URL ({at.name})"
            )
        shaping = Shaping(at.kind.kind)
        try:
            shape = shaping.custom if at.kind.custom else shaping.builtin
            shaped: Object = shape(wanted, at.kind.schema)
            if shaping.unknown:
                why = f".{shaping.unknown[0]}: field not declared in schema"
                raise Undecodable(why, wrong_type=True)
        except Undecodable as error:
            raise not_applicable(at.kind, wanted, error) from error
        return shaped

    def _delete(self, at: Route, request: Request) -> Answer:
        options = DeleteOptions.of(request.document(), request.query)
        found = delete(self.cluster, at.kind, at.place, options)
        return Reply(events.served(at.kind, found) if found["kind"] == at.kind.kind else found)

    def _delete_many(self, at: Route, request: Request) -> Answer:
        if "deletecollection" not in at.kind.verbs:
            raise method_not_allowed()
        options = DeleteOptions.of(request.document(), request.query)
        matches = selected(at, request)
        there, version = self.cluster.store.list(at.kind.stored_as, at.namespace)
        chosen = [obj for obj in there if matches(obj)]
        for obj in chosen:
            try:
                delete(
                    self.cluster,
                    at.kind,
                    (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]),
                    options,
                )
            except Refusal as refusal:
                if refusal.code != 404:
                    raise
        return self._shown(at, request, chosen, metadata={"resourceVersion": str(version)})


def _warnings(texts: list[str]) -> tuple[str, ...]:
    """As headers, each once and quoted."""
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in dict.fromkeys(texts))
    return tuple(f'299 - "{text}"'.replace("\n", " ") for text in quoted)
