"""A registry that gives tokens, as Docker Hub and Artifact Registry do: real HTTP, and only as much
of it as is asked here."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playrunner.images.platform import ARCHITECTURE

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


class BearerRegistry:
    """Images by tag in one repository, for whoever has the login; everything that was asked is
    noted."""

    def __init__(
        self, user: str = "me", password: str = "hidden", deletes_tags: bool = True
    ) -> None:
        self.login = base64.b64encode(f"{user}:{password}".encode()).decode()
        self.deletes_tags, self.anonymous, self.troubles = deletes_tags, False, list[int]()
        self.manifests, self.tags, self.blobs = (
            dict[str, tuple[str, bytes]](),
            dict[str, str](),
            dict[str, bytes](),
        )
        self.asked = list[str]()
        self.lie = ""  # what it calls every manifest, instead of its digest
        registry = self

        class Handler(_Handler):
            world = registry

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def image(self, tag: str, architecture: str = ARCHITECTURE, **labels: str) -> str:
        """Put an image there; its digest."""
        config = json.dumps(
            {"architecture": architecture, "os": "linux", "config": {"Labels": labels}}
        ).encode()
        held = _digest(config)
        self.blobs[held] = config
        layers = [{"mediaType": "x", "digest": held, "size": 7}]
        return self._put(
            tag,
            MANIFEST,
            {"schemaVersion": 2, "config": {"digest": held, "size": len(config)}, "layers": layers},
        )

    def index(self, tag: str, **images: str) -> str:
        """Put an image for several architectures there."""
        inner = [
            {"digest": digest, "platform": {"architecture": name, "os": "linux"}}
            for name, digest in images.items()
        ]
        return self._put(tag, INDEX, {"schemaVersion": 2, "manifests": inner})

    def _put(self, tag: str, kind: str, manifest: dict[str, Any]) -> str:
        data = json.dumps({"mediaType": kind, **manifest}).encode()
        digest = _digest(data)
        self.manifests[digest], self.tags[tag] = (kind, data), digest
        return digest


class _Handler(BaseHTTPRequestHandler):
    world: BearerRegistry
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        world = self.world
        world.asked.append(f"{self.command} {self.path}")
        if path == "/token":
            known = self.headers.get("Authorization") == f"Basic {world.login}"
            self._answer(
                200 if known or world.anonymous else 401,
                json.dumps({"token": "for " + query["scope"][0]}).encode(),
            )
        elif not self.headers.get("Authorization", "").startswith(
            "Bearer for repository:team/images"
        ):
            realm = f'Bearer realm="http://{world.address}/token",service="here",scope="repository:team/images:pull"'
            self._answer(401, b"{}", {"Www-Authenticate": realm})
        elif world.troubles:
            self._answer(world.troubles.pop(0), b"{}")
        else:
            self._serve(path.removeprefix("/v2/team/images/"), query)

    do_DELETE = do_GET

    def _serve(self, path: str, query: dict[str, list[str]]) -> None:
        world, (kind, _, which) = self.world, path.partition("/")
        digest = world.tags.get(which, which)
        if self.command == "DELETE":
            self._delete(which, digest)
        elif kind == "manifests" and digest in world.manifests:
            media, data = world.manifests[digest]
            self._answer(
                200, data, {"Content-Type": media, "Docker-Content-Digest": world.lie or digest}
            )
        elif kind == "blobs" and which in world.blobs:
            self._answer(200, world.blobs[which])
        elif kind == "tags":
            names = sorted(tag for tag in world.tags if tag > query.get("last", [""])[0])
            more = (
                {"Link": f'</v2/team/images/tags/list?n=2&last={names[1]}>; rel="next"'}
                if len(names) > 2
                else {}
            )
            self._answer(200, json.dumps({"tags": names[:2]}).encode(), more)
        else:
            self._answer(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}')

    def _delete(self, which: str, digest: str) -> None:
        world = self.world
        if which in world.tags and not world.deletes_tags:
            self._answer(405, b'{"errors": [{"code": "UNSUPPORTED"}]}')
            return
        if which in world.manifests and world.deletes_tags and which in world.tags.values():
            self._answer(400, b'{"errors": [{"message": "a tag still stands for it"}]}')
            return
        world.tags = {tag: held for tag, held in world.tags.items() if which not in (tag, held)}
        if which in world.manifests:
            del world.manifests[which]
        self._answer(202, b"")

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
