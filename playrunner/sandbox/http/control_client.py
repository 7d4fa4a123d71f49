"""The pretend clouds of a sandbox, as its cluster asks them: where they listen, and what they
answer at `/_sandbox/...`."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from playrunner.sandbox.http import control_secret

ANSWER_SECONDS = 5.0


def endpoint_of(root: Path, cloud: str) -> str:
    """Of a cloud in the sandbox of this folder; empty while there is none."""
    try:
        return str(json.loads((root / f"{cloud}.json").read_text())["endpoint_url"])
    except (OSError, ValueError):
        return ""


def ask(root: Path, cloud: str, name: str, body: Any = None) -> Any:
    """What it answers at /_sandbox/NAME; None when it does not answer, or there is no such
    cloud."""
    endpoint = endpoint_of(root, cloud)
    return ask_at(endpoint, root / cloud, name, body) if endpoint else None


def ask_at(endpoint: str, folder: Path, name: str, body: Any = None) -> Any:
    """The same of the one that listens there and keeps its secret in this folder."""
    # Loopback must be reached directly, whatever proxy the environment names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{endpoint}/_sandbox/{name}", data, control_secret.header(folder)
        )
        with opener.open(request, timeout=ANSWER_SECONDS) as answer:
            return json.load(answer)
    except (OSError, urllib.error.URLError, ValueError):
        return None
