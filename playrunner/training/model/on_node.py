"""A run over SSH: programs run on its first node, and an exported model is copied here."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, StepFailed
from playrunner.options import Options
from playrunner.ssh.connection import Channel
from playrunner.ssh.fleet import Fleet
from playrunner.ssh.frames import read_all
from playrunner.text.documents import json_object
from playrunner.training.code_staging import stage_code
from playrunner.training.model.program import Program, last_line, result_of
from playrunner.training.node_shell import in_shell
from playrunner.training.ssh.nodes.hosts import open_fleet
from playrunner.training.ssh.nodes.selection import the_run

DESCRIPTION = "exported.json"
_MOST_BYTES = 1 << 20
_MOST_HEADER = 1 << 16
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # a file of the folder itself


def run_on_node(program: Program, options: Options, name: str) -> dict[str, Any]:
    with open_fleet(options) as fleet:
        run, channel = _start(fleet, options, name, program.module, program.words)
        output, _ = read_all(channel, _MOST_BYTES)
        code = channel.status()
        errors = channel.stderr_text()
        return {"name": run} | result_of(program, output.decode(errors="replace"), errors, code)


def copy_from_node(options: Options, name: str, target: Path) -> dict[str, Any]:
    """Export a run's model into a folder here; the same checkpoint again changes nothing."""
    earlier = _description(target)
    if target.exists() and not earlier and (not target.is_dir() or any(target.iterdir())):
        raise BadInput(f"--to {target}: exists and is no earlier export; choose another folder")
    have = str(earlier.get("origin", "")) if earlier else ""
    draft = target.with_name(f".{target.name}.partial")
    shutil.rmtree(draft, ignore_errors=True)
    with open_fleet(options) as fleet:
        words = ("--have", have) if have else ()
        run, channel = _start(fleet, options, name, "trainer.use.send", words)
        try:
            draft.mkdir(parents=True)
            result = _received(channel, draft)
            summary = {"name": run, "to": str(target), **result}
            if not result["files"]:
                return {**summary, "changed": False, "files": (earlier or {}).get("files", {})}
            (draft / DESCRIPTION).write_text(json.dumps(summary, indent=1) + "\n")
            if target.exists():
                shutil.rmtree(target)
            draft.rename(target)
            return {**summary, "changed": True}
        except OSError as error:
            raise BadInput(f"--to {target}: {error.strerror or error}") from None
        finally:
            channel.close()
            shutil.rmtree(draft, ignore_errors=True)


def _start(
    fleet: Fleet, options: Options, name: str, module: str, words: Sequence[str]
) -> tuple[str, Channel]:
    run = the_run(fleet, options, name)
    node: dict[str, Any] = run.job["nodes"][0]
    code = stage_code(fleet, {node["host"]: node["root"]})[node["host"]]
    output = f"{node['root']}/runs/{run.name}/output"
    argv = [node["python"], "-m", module, output, *words]
    command = f"PYTHONPATH={in_shell(code)} exec {' '.join(map(in_shell, argv))}"
    return run.name, fleet.start(node["host"], command)


class _Incoming:
    """Bytes from a channel, by lines and by counts."""

    def __init__(self, channel: Channel) -> None:
        self.channel, self.pending = channel, b""

    def line(self) -> bytes:
        while b"\n" not in self.pending and len(self.pending) < _MOST_HEADER:
            if not (data := self.channel.receive()):
                break
            self.pending += data
        line, _, self.pending = self.pending.partition(b"\n")
        return line

    def copy(self, size: int, path: Path) -> str:
        digest = hashlib.sha256()
        with path.open("wb") as file:
            while size:
                data = self.pending or self.channel.receive()
                if not data:
                    raise StepFailed(f"export: the connection ended within {path.name}")
                taken, self.pending = data[:size], data[size:]
                file.write(taken)
                digest.update(taken)
                size -= len(taken)
        return digest.hexdigest()


def _received(channel: Channel, draft: Path) -> dict[str, Any]:
    incoming = _Incoming(channel)
    while True:
        header = json_object(incoming.line())
        if header is None:
            raise StepFailed(f"export: {last_line(channel.stderr_text()) or 'nothing was sent'}")
        result = header.get("result")
        if isinstance(result, dict) and isinstance(result.get("files"), dict):
            return result
        name, size = str(header.get("name")), header.get("size")
        if not _NAME.fullmatch(name) or not isinstance(size, int) or size < 0:
            raise StepFailed(f"export: the node sent no file of a model but {name[:100]!r}")
        if incoming.copy(size, draft / name) != header.get("sha256"):
            raise StepFailed(f"export: {name} was altered on its way; try again")


def _description(target: Path) -> dict[str, Any] | None:
    try:
        return json_object((target / DESCRIPTION).read_bytes())
    except OSError:
        return None
