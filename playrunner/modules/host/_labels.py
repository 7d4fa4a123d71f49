"""What a path carries beside its mode and owner: attribute flags (chattr) and the parts of an
SELinux context."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed
from playrunner.modules.host._packages import needed, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Union

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import State

SELINUX = "/sys/fs/selinux"  # there when the kernel enforces, or only reports, a policy
PARTS = ("seuser", "serole", "setype", "selevel")  # in the order of a context
_CONTEXT = "security.selinux"
_KEPT_FLAGS = "e"  # an ext4 file has it, and it cannot be taken away


class Labels:
    """The attribute flags and the SELinux parts that a step asks for."""

    def __init__(self, attributes: Optional[str], parts: dict[str, Optional[str]]) -> None:
        self.attributes = attributes
        # Without SELinux its arguments have no meaning, and are left aside as Ansible does.
        enabled = any(parts.values()) and os.path.isdir(SELINUX)
        self.parts = {name: part for name, part in parts.items() if part} if enabled else {}

    def __bool__(self) -> bool:
        return bool(self.attributes or self.parts)

    def observed(self, ctx: HostContext, path: str) -> State:
        state: State = {}
        if self.attributes:
            state["attributes"] = flags_of(ctx, path)
        if self.parts:
            state["secontext"] = context_of(path)
        return state

    def wanted(self, ctx: HostContext, path: str, current: State) -> State:
        state: State = {}
        if self.attributes:
            state["attributes"] = changed_flags(current.get("attributes", ""), self.attributes)
        if self.parts:
            state["secontext"] = self._context(ctx, path, current.get("secontext") or "")
        return state

    def _context(self, ctx: HostContext, path: str, current: str) -> str:
        now = _parts(current)
        usual = _parts(default_context(ctx, path))
        merged = {**usual, **now}
        for name, part in self.parts.items():
            merged[name] = usual.get(name, "") if part == "_default" else str(part)
        return ":".join(merged[name] for name in PARTS if merged.get(name))


def set_labels(ctx: HostContext, path: str, wanted: State) -> None:
    """Flags and context as a state names them; what it does not name stays."""
    if wanted.get("secontext"):
        os.setxattr(path, _CONTEXT, wanted["secontext"].encode() + b"\0", follow_symlinks=False)
    if wanted.get("attributes") is None:
        return
    before, after = set(flags_of(ctx, path)), set(wanted["attributes"])
    words = [
        sign + "".join(sorted(flags))
        for sign, flags in (("-", before - after), ("+", after - before))
        if flags
    ]
    if words:
        ran = ctx.run([needed("chattr", "install e2fsprogs"), *words, path], env={"LC_ALL": "C"})
        if ran.rc:
            raise Failed(f"chattr failed: {(ran.err or ran.out).strip()}", path=path, rc=ran.rc)


def flags_of(ctx: HostContext, path: str) -> str:
    """The letters that lsattr shows; none where the file system keeps no flags."""
    tool = program("lsattr")
    if not tool or os.path.islink(path):
        return ""
    ran = ctx.run([tool, "-d", path], env={"LC_ALL": "C"})
    return ran.out.split(" ")[0].replace("-", "") if ran.rc == 0 else ""


def changed_flags(current: str, asked: str) -> str:
    """The flags after `+i`, `-a`, `=ai` or `ai`."""
    sign, letters = (asked[0], asked[1:]) if asked[:1] in "+-=" else ("=", asked)
    kept = {"+": set(current), "-": set(current) - set(letters)}.get(
        sign, set(current) & set(_KEPT_FLAGS)
    )
    after = kept if sign == "-" else kept | set(letters)
    return current if after == set(current) else "".join(sorted(after))


def context_of(path: str) -> Union[str, None]:
    try:
        return os.getxattr(path, _CONTEXT, follow_symlinks=False).rstrip(b"\0").decode()
    except OSError:
        return None


def default_context(ctx: HostContext, path: str) -> str:
    """What the policy says about a path; nothing where it says nothing."""
    tool = program("matchpathcon")
    ran = ctx.run([tool, "-n", path]) if tool else None
    return str(ran.out.strip()) if ran and ran.rc == 0 and ":" in ran.out else ""


def _parts(context: str) -> dict[str, str]:
    return dict(zip(PARTS, context.split(":", 3)))  # noqa: B905  # the level may be missing
