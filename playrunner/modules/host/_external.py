"""A module that was written for Ansible: Python with its library, or any program that reads a file
of arguments and prints JSON.

The code is sent once and kept in ~/.playrunner/modules under its hash, for this run and later ones.
"""

from __future__ import annotations

import json
import os
import sys

from playrunner.hostside.external_result import result_of
from playrunner.hostside.module import Action

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext

JSON_ARGUMENTS = b"<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>"
KEPT_FILES = 200  # of the folder on a host; the oldest go first


class External(Action):
    takes_any = True  # it checks its arguments itself

    name: str  # the dotted name it is run under
    # "python", or how a program gets its arguments: a file of "json" or "words", or "inside" it
    style: str
    arguments: dict[str, Any]
    program: dict[str, Any] = {}  # module_server's source
    packs: list[dict[str, Any]] = []  # its code, compiled and as source
    magic: str = ""  # of the Python that compiled it
    file: dict[str, Any] = {}  # the program itself, where it is not Python for Ansible
    interpreter: list[str] = []  # what runs that program; nothing for a binary
    settings: dict[str, Any] = {}  # of Ansible, passed on as `_ansible_` arguments

    def guard(self, ctx: HostContext) -> dict[str, Any] | None:
        """Run the module in any case: it knows itself what --check and a second run mean."""
        if self.style == "python":
            rc, out, err = self._as_python(ctx)
        else:
            rc, out, err = self._as_program(ctx)
        result = result_of(rc, out, err)
        if ctx.background and err:
            result.setdefault("stderr", err)
        return result

    def fetch_files(self, ctx: HostContext) -> None:
        """Keep on this host what `guard` will need."""
        needed = [self.program, *self._chosen_packs()] if self.style == "python" else [self.file]
        for upload in needed:
            _kept(ctx, upload)

    def _params(self, ctx: HostContext) -> dict[str, Any]:
        return {
            **self.arguments,
            "_ansible_check_mode": ctx.check,
            "_ansible_no_log": not ctx.live,
            "_ansible_diff": ctx.diff,
            **self.settings,
        }

    def _as_python(self, ctx: HostContext) -> tuple[int, str, str]:
        from playrunner.hostside.module_process import module_process

        server = module_process(lambda: _kept(ctx, self.program))
        uploads = self._chosen_packs()
        for upload in uploads:
            if upload["sha1"] not in server.packs:
                server.add(upload["sha1"], _kept(ctx, upload))
        request = {
            "name": self.name,
            "packs": [upload["sha1"] for upload in uploads],
            "env": dict(os.environ),
            "limit": ctx.wire.limits.output,
        }
        params = json.dumps({"ANSIBLE_MODULE_ARGS": self._params(ctx)}).encode()
        return server.run(ctx, request, params)

    def _chosen_packs(self) -> list[dict[str, Any]]:
        same = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER.hex() == self.magic
        return [pack["compiled" if same else "source"] for pack in self.packs]

    def _as_program(self, ctx: HostContext) -> tuple[int, str, str]:
        import shutil
        import tempfile

        folder = tempfile.mkdtemp(prefix="playrunner-module-")
        try:
            program, code = os.path.join(folder, self.file["name"]), _kept(ctx, self.file)
            if self.style == "inside":
                code = code.replace(JSON_ARGUMENTS, json.dumps(self._params(ctx)).encode())
            _write(program, code, 0o700)
            words = [*self.interpreter, program]
            if words[0] == "python":
                words[0] = sys.executable
            if self.style != "inside":
                arguments = os.path.join(folder, "args")
                _write(arguments, self._argument_file(ctx).encode(), 0o600)
                words.append(arguments)
            ran = ctx.run(words)
            return ran.rc, ran.out, ran.err
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _argument_file(self, ctx: HostContext) -> str:
        if self.style == "json":
            return json.dumps(self._params(ctx))
        import shlex

        return " ".join(
            f"{name}={shlex.quote(str(value))}" for name, value in self._params(ctx).items()
        )


def _kept(ctx: HostContext, upload: dict[str, Any]) -> bytes:
    """A file of the controller, from this host's own folder if it was sent before."""
    import hashlib

    folder = _folder(not ctx.check)
    path = os.path.join(folder, upload["sha1"]) if folder else ""
    if path:
        try:
            with open(path, "rb") as file:
                data = file.read()
            if hashlib.sha1(data).hexdigest() == upload["sha1"]:
                return data
        except OSError:
            pass
    sent: bytes = ctx.blob(upload)
    if path and not ctx.check:
        _keep(folder, path, sent)
    return sent


def _folder(make: bool) -> str:
    """Where code is kept; nowhere if others could write to it, since what is there is run."""
    folder = os.path.join(os.path.expanduser("~"), ".playrunner", "modules")
    try:
        if make:
            os.makedirs(folder, 0o700, exist_ok=True)
        status = os.lstat(folder)
    except OSError:
        return ""
    return folder if status.st_uid == os.geteuid() and not status.st_mode & 0o022 else ""


def _keep(folder: str, path: str, data: bytes) -> None:
    import tempfile

    try:
        fd, new = tempfile.mkstemp(dir=folder, prefix=".")
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.replace(new, path)
        names = os.listdir(folder)
        if len(names) > KEPT_FILES:
            paths = [os.path.join(folder, name) for name in names]
            for old in sorted(paths, key=os.path.getmtime)[: len(paths) - KEPT_FILES]:
                os.unlink(old)
    except OSError:
        pass  # kept only to save time


def _write(path: str, data: bytes, mode: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
