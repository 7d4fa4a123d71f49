"""host.sysctl: a setting of the kernel, now and after every start."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host._lines import read_lines, write_lines
from playrunner.modules.host._packages import needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State


class Sysctl(Module):
    """A setting of the kernel, in a file that is read at every start, and live when asked."""

    aliases = {"key": "name", "val": "value"}
    name: str  # the setting, such as net.ipv4.ip_forward
    value: str | None = None  # what it should be
    state: Literal["present", "absent"] = "present"  # whether the file holds it
    sysctl_file: str = "/etc/sysctl.conf"  # the file
    sysctl_set: bool = False  # also set it live and make sure that it is
    reload: bool = True  # have the kernel read the file when it changed
    ignoreerrors: bool = False  # settings the kernel does not know are no failure

    def observe(self, ctx: HostContext) -> State | None:
        if self.state == "present" and not (self.value or "").strip():
            raise Failed(
                "value cannot be blank" if self.value is not None else "value cannot be None"
            )
        found: State = {"kept": _kept(read_lines(self.sysctl_file), self.name)}
        if self.sysctl_set:
            found["live"] = self._live()
        return found

    def desired(self, ctx: HostContext, found: State | None) -> State | None:
        if self.state == "absent":
            return {"kept": None}
        value = _spelled((self.value or "").strip())
        kept = (found or {})["kept"]
        same = (
            kept is not None and kept.split() == value.split()
        )  # blanks between numbers say nothing
        return {
            "kept": kept if same else value,
            **({"live": " ".join(value.split())} if self.sysctl_set else {}),
        }

    def apply(self, ctx: HostContext, change: Change) -> None:
        after = change.after or {}
        if change.touches("live") and after.get("live") is not None:
            self._run(ctx, ["-w", f"{self.name}={after['live']}"], "set")
        if change.touches("kept"):
            write_lines(
                ctx, self.sysctl_file, _with(read_lines(self.sysctl_file), self.name, after["kept"])
            )
            if self.reload:
                self._run(ctx, ["-p", self.sysctl_file], "reload")

    def _live(self) -> Optional[str]:
        path = os.path.join(
            "/proc/sys",
            *(part.replace("/", ".") for part in self.name.replace(".", "/").split("/")),
        )
        try:
            with open(path) as file:
                return " ".join(file.read().split())
        except OSError:
            return None

    def _run(self, ctx: HostContext, words: list[str], doing: str) -> None:
        tool = needed("sysctl", "it belongs to the package procps")
        ran = ctx.run([tool, *(["-e"] if self.ignoreerrors else []), *words], env={"LC_ALL": "C"})
        if (ran.rc or "Invalid argument" in ran.err) and not self.ignoreerrors:
            raise Failed(f"Failed to {doing} sysctl: {(ran.out + ran.err).strip()}", rc=ran.rc)


def _setting(line: str) -> tuple[str, str]:
    """The name and value of a line, or two empty texts."""
    name, sign, value = line.partition("=")
    is_one = sign and not line.strip().startswith(("#", ";"))
    return (name.strip(), value.strip()) if is_one else ("", "")


def _spelled(value: str) -> str:
    """Words for yes and no as the kernel wants them."""
    word = value.lower()
    return (
        "1"
        if word in ("y", "yes", "on", "t", "true")
        else "0"
        if word in ("n", "no", "off", "f", "false")
        else value
    )


def _kept(lines: list[str], name: str) -> Optional[str]:
    values = [value for known, value in map(_setting, lines) if known == name]
    return values[-1] if values else None


def _with(lines: list[str], name: str, value: Optional[str]) -> list[str]:
    result, placed = [], value is None
    for line in lines:
        if _setting(line)[0] != name:
            result.append(line)
        elif not placed:
            result.append(f"{name}={value}")
            placed = True
    return result if placed else [*result, f"{name}={value}"]
