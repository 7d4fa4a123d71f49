"""Facts a host keeps about itself: *.fact files with JSON or INI in them, or programs that print
such."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


def gathered(ctx: HostContext, folder: str, seconds: int) -> dict[str, Any]:
    folder = os.path.expanduser(folder)
    if not os.path.isdir(folder):
        return {}
    names = [name for name in sorted(os.listdir(folder)) if name.endswith(".fact")]
    return {
        name[: -len(".fact")].replace("-", "_"): _read(ctx, os.path.join(folder, name), seconds)
        for name in names
    }


def _read(ctx: HostContext, path: str, seconds: int) -> Any:
    from playrunner.hostside.module import Failed

    if not os.path.exists(path):
        return _complain(ctx, f"Could not stat fact ({path}): it is a link that leads nowhere")
    try:
        if os.access(path, os.X_OK):
            ran = ctx.run([path], timeout=seconds)
            if ran.rc:
                return _complain(
                    ctx,
                    f"Failure executing fact script ({path}), rc: {ran.rc}, err: {ran.err.strip()}",
                )
            text = ran.out
        else:
            with open(path, encoding="utf-8") as file:
                text = file.read()
    except (OSError, UnicodeDecodeError, Failed) as error:
        return _complain(ctx, f"error loading facts: {path}: {error}")
    import json

    try:
        return json.loads(text)
    except ValueError:
        return _ini(ctx, path, text)


def _ini(ctx: HostContext, path: str, text: str) -> Any:
    import configparser

    parser = configparser.ConfigParser()
    try:
        parser.read_string(text)
        return {section: dict(parser.items(section)) for section in parser.sections()}
    except (configparser.Error, ValueError) as error:
        kind = "JSON or ini" if not parser.sections() else "ini"
        return _complain(
            ctx, f"error loading facts as {kind} - please check content: {path}: {error}"
        )


def _complain(ctx: HostContext, text: str) -> str:
    ctx.warn(text)
    return text
