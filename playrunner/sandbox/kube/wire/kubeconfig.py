"""The file that kubectl and every client library reads to find a cluster and be let in."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml

from playrunner.sandbox.state import write_file

NAME = "sandbox"


def write(path: Path, server: str, authority: Path, token: str) -> None:
    """Readable by its owner alone: the token in it opens everything."""
    trusted = base64.b64encode(authority.read_bytes()).decode()
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": NAME,
        "clusters": [
            {"name": NAME, "cluster": {"server": server, "certificate-authority-data": trusted}}
        ],
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [
            {"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": "default"}}
        ],
    }
    write_file(path, yaml.safe_dump(content, sort_keys=False))
