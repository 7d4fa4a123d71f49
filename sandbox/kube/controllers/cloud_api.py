"""The pretend clouds of the same sandbox, as controllers ask them: where they listen, and what they say."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ANSWER_SECONDS = 5.0


def endpoint_of(folder: Path, cloud: str) -> str:
    """Of a cloud in the sandbox that this cluster's folder belongs to; empty while there is none."""
    try:
        return str(json.loads((folder.parent / f"{cloud}.json").read_text())["endpoint_url"])
    except (OSError, ValueError):
        return ""


def ask(url: str, body: Any = None) -> Any:
    """None when it does not answer."""
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=ANSWER_SECONDS) as answer:
            return json.load(answer)
    except (OSError, urllib.error.URLError, ValueError):
        return None
