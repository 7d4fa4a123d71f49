"""A form with several parts, files among them, as web servers take it."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed
from playrunner.modules.host._content import read_bytes
from playrunner.modules.host._paths import expanded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def encoded_form(body: Any) -> tuple[bytes, str]:
    """The bytes of the form, and the content type that names what separates its parts."""
    if not isinstance(body, dict):
        raise Failed("body must be a mapping with body_format form-multipart")
    boundary = os.urandom(16).hex()
    lines: list[bytes] = []
    for name, part in body.items():
        headers, data = _part(str(name), part)
        lines += [f"--{boundary}".encode(), *(line.encode() for line in headers), b"", data]
    lines += [f"--{boundary}--".encode(), b""]
    return b"\r\n".join(lines), f"multipart/form-data; boundary={boundary}"


def _part(name: str, part: Any) -> tuple[list[str], bytes]:
    """Headers and bytes of one part."""
    if not isinstance(part, dict):
        return [f'Content-Disposition: form-data; name="{_quoted(name)}"'], str(part).encode()
    content, filename = part.get("content"), part.get("filename")
    if content is None and not filename:
        raise Failed(f"at least one of filename or content must be given for {name}")
    data = read_bytes(expanded(str(filename))) if content is None else str(content).encode()
    shown = f'; filename="{_quoted(os.path.basename(str(filename)))}"' if filename else ""
    headers = [f'Content-Disposition: form-data; name="{_quoted(name)}"{shown}']
    kind = part.get("mime_type") or (_kind_of(str(filename)) if filename else "text/plain")
    headers.append(f"Content-Type: {kind}")
    if part.get("multipart_encoding") == "base64":
        import base64

        headers.append("Content-Transfer-Encoding: base64")
        data = base64.encodebytes(data)
    return headers, data


def _kind_of(filename: str) -> str:
    import mimetypes

    return mimetypes.guess_type(filename)[0] or "application/octet-stream"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "").replace("\n", "")
