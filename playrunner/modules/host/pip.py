"""host.pip: Python packages, in a virtual environment or for the whole host."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host import _requirements
from playrunner.modules.host._modes import umask_of
from playrunner.modules.host._packages import program
from playrunner.modules.host._paths import expanded, remove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

UNDECIDED = "as pip decides"  # pip alone knows whether what is installed will do


class Pip(Module):
    """Python packages, in a virtual environment or for the whole host."""

    name: list[
        Any
    ] = []  # packages: name, name==version, name[extra]>=version, an address or a path
    version: str | None = None  # the version of the one package named
    requirements: str | None = None  # a requirements file on the host
    # installed, removed, newest, or installed again
    state: Literal["present", "absent", "latest", "forcereinstall"] = "present"
    virtualenv: str | None = None  # the environment to install into; made when it is not there
    # What makes it; virtualenv, or python3 -m venv where there is none
    virtualenv_command: str | None = None
    virtualenv_python: str | None = None  # the Python it is made for
    virtualenv_site_packages: bool = False  # let it see the host's own packages
    extra_args: str | None = None  # further words for pip
    executable: str | None = None  # the pip to use, when it is not in an environment
    editable: bool = False  # install from a working copy
    chdir: str | None = None  # run pip in this folder
    break_system_packages: bool = False  # install beside the distribution's own packages
    umask: str | None = None  # the umask for what is installed, such as "0022"

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        if arguments.get("executable") and arguments.get("virtualenv"):
            return "executable and virtualenv both say which pip to use; give one of them"
        if arguments.get("version") and len(_requirements.listed(arguments.get("name"))) != 1:
            return "version goes with exactly one name"
        if not any(arguments.get(key) for key in ("name", "requirements", "virtualenv")):
            return "nothing to install; give name or requirements"
        return None

    @property
    def _env(self) -> Optional[str]:
        return expanded(self.virtualenv) if self.virtualenv else None

    def observe(self, ctx: HostContext) -> State | None:
        state: State = {"packages": {}}
        if self._env:
            state["virtualenv"] = (
                "present"
                if os.path.exists(os.path.join(self._env, "bin", "activate"))
                else "absent"
            )
        installed = {} if state.get("virtualenv") == "absent" else self._listed(ctx)
        for text in self._asked():
            state["packages"][text] = installed.get(_requirements.package_of(text))
        return state

    def desired(self, ctx: HostContext, current: State | None) -> State | None:
        installed = (current or {})["packages"]
        wanted: State = {
            "packages": {text: self._wanted(text, installed[text]) for text in self._asked()}
        }
        if self._env:
            wanted["virtualenv"] = "present"
        return wanted

    def apply(self, ctx: HostContext, change: Change) -> None:
        ctx.memory["output"] = {"stdout": "", "stderr": ""}
        after = change.after or {}
        if after.get("virtualenv") == "absent" and self._env:
            remove(self._env)
            return
        if change.touches("virtualenv") and self._env:
            self._make_environment(ctx)
        before = (change.before or {}).get("packages", {})
        differing = [
            text for text, wanted in after["packages"].items() if wanted != before.get(text)
        ]
        going = [
            _requirements.package_of(text) for text in differing if after["packages"][text] is None
        ]
        coming = [text for text in differing if after["packages"][text] is not None]
        if going:
            self._pip(ctx, ["uninstall", "-y", *going])
        if coming:
            self._pip(
                ctx,
                self._install_words(
                    [self._with_version(text, after["packages"][text]) for text in coming]
                ),
            )

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        values: dict[str, Any] = {
            "name": _requirements.listed(self.name) or None,
            "version": self.version,
            "state": self.state,
            "requirements": self.requirements,
            "virtualenv": self.virtualenv,
            "cmd": ctx.memory.get("command"),
        }
        output = ctx.memory.get("output")
        if output:
            values.update(
                output,
                changed=change.touches("virtualenv")
                or any(
                    sign in output["stdout"]
                    for sign in ("Successfully installed", "Successfully uninstalled")
                ),
            )
        return values

    def _asked(self) -> list[str]:
        names = _requirements.listed(self.name)
        if self.version:
            names = [f"{names[0]}=={self.version}"]
        return [
            *names,
            *(
                _requirements.in_file(os.path.join(self.chdir or "", expanded(self.requirements)))
                if self.requirements
                else []
            ),
        ]

    def _wanted(self, text: str, installed: Optional[str]) -> Optional[str]:
        if self.state == "absent":
            return None
        if (
            self.state == "present"
            and installed is not None
            and _requirements.met_by(text, installed)
        ):
            return installed
        return UNDECIDED

    def _with_version(self, text: str, wanted: str) -> str:
        return text if wanted == UNDECIDED else f"{_requirements.package_of(text)}=={wanted}"

    def _install_words(self, packages: list[str]) -> list[str]:
        arguments = [
            "install",
            *{"latest": ["-U"], "forcereinstall": ["-U", "--force-reinstall"]}.get(self.state, []),
        ]
        arguments += ["--break-system-packages"] if self.break_system_packages else []
        arguments += _requirements.words(self.extra_args)
        if self.requirements:
            arguments += ["-r", expanded(self.requirements)]
            packages = [text for text in packages if text in _requirements.listed(self.name)]
        return [
            *arguments,
            *(word for text in packages for word in (["-e", text] if self.editable else [text])),
        ]

    def _make_environment(self, ctx: HostContext) -> None:
        given = _requirements.words(self.virtualenv_command)
        tool = program("virtualenv")
        python = self.virtualenv_python or program("python3") or "python3"
        command = given or ([tool] if tool else [python, "-m", "venv"])
        command += ["--system-site-packages"] if self.virtualenv_site_packages else []
        if self.virtualenv_python and "venv" not in " ".join(command):
            command += ["-p", self.virtualenv_python]
        self._run(ctx, [*command, self._env or ""])

    def _pip(self, ctx: HostContext, words: list[str]) -> None:
        command = ctx.memory["command"] = [*self._program(), *words]
        ran, before = self._run(ctx, command), ctx.memory["output"]
        ctx.memory["output"] = {
            "stdout": before["stdout"] + ran.out,
            "stderr": before["stderr"] + ran.err,
        }

    def _run(self, ctx: HostContext, command: list[str]) -> Any:
        ran = ctx.run(
            command,
            cwd=self.chdir,
            live=True,
            env={"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            umask=umask_of(self.umask),
        )
        if ran.rc:
            raise Failed(
                f"stdout: {ran.out}\n:stderr: {ran.err}",
                cmd=command,
                rc=ran.rc,
                stdout=ran.out,
                stderr=ran.err,
            )
        return ran

    def _program(self) -> list[str]:
        if self._env:
            return [os.path.join(self._env, "bin", "pip")]
        path = program(self.executable) if self.executable else program("pip3", "pip")
        if path is None:
            raise Failed(
                f"Unable to find {self.executable or 'pip3 or pip'} on this host; install it first,"
                " for instance with package: name=python3-pip"
            )
        return [path]

    def _listed(self, ctx: HostContext) -> dict[str, str]:
        ran = ctx.run(
            [*self._program(), "list", "--format=freeze", "--disable-pip-version-check"],
            cwd=self.chdir,
        )
        if ran.rc:
            raise Failed(
                f"pip cannot list what is installed: {ran.err.strip()}", rc=ran.rc, stderr=ran.err
            )
        pairs = [line.partition("==") for line in ran.out.splitlines()]
        return {_requirements.normal(name): version for name, _, version in pairs if version}
