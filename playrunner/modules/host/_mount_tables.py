"""Tables of mounts: fstab and its relatives, and what the program mount prints."""

from __future__ import annotations

import re

from playrunner.hostside.module import Failed
from playrunner.modules.host._lines import read_lines
from playrunner.modules.host._packages import needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext

    Entry = dict[str, Any]

_LINUX = re.compile(r"(?P<device>\S+) on (?P<mount>\S+) type (?P<fstype>\S+) \((?P<options>.+)\)$")
_BSD = re.compile(r"(?P<device>\S+) on (?P<mount>\S+) \((?P<fstype>[^,)]+)(, *(?P<options>.*))?\)$")


def entries_of_file(path: str) -> list[Entry]:
    """Entries of a table, each with its line; the number of columns tells which table it is."""
    try:
        lines = [line for line in read_lines(path) if line.strip()]
    except Failed:
        return []
    rows = [line for line in lines if not line.strip().startswith("#")]
    for parse in (_vfstab, _mnttab, _fstab, _aix):
        try:
            entries = parse(rows)
        except (IndexError, ValueError):
            continue
        if entries or parse is _fstab:
            return entries
    return []


def _fstab(lines: list[str]) -> list[Entry]:
    entries = []
    for line in lines:
        fields = [_unescaped(field) for field in line.split()]
        known: Entry = {
            "device": fields[0],
            "mount": fields[1],
            "fstype": fields[2],
            "options": fields[3],
        }
        for name, text in zip(("dump", "passno"), fields[4:6]):  # noqa: B905
            known[name] = int(text)
        entries.append({"line": line.strip(), "fields": known})
    return entries


def _vfstab(lines: list[str]) -> list[Entry]:
    """Seven columns, as on Solaris."""
    entries = []
    for line in lines:
        device, check, mount, fstype, passno, at_boot, options = line.split()[:7]
        known = {
            "device": device,
            "device_to_fsck": check,
            "mount": mount,
            "fstype": fstype,
            "passno": int(passno) if passno.isdigit() else passno,
            "mount_at_boot": at_boot,
            "options": options,
        }
        entries.append({"line": line, "fields": known})
    return entries


def _mnttab(lines: list[str]) -> list[Entry]:
    """Five columns, the last of which is when it was mounted, as on Solaris."""
    entries = []
    for line in lines:
        device, mount, fstype, options, moment = line.split()
        if len(moment) != 10:
            raise ValueError(moment)
        known = {
            "device": device,
            "mount": mount,
            "fstype": fstype,
            "options": options,
            "time": int(moment),
        }
        entries.append({"line": line, "fields": known})
    return entries


def _aix(lines: list[str]) -> list[Entry]:
    """Paragraphs that begin with the mount point and a colon, as in AIX's /etc/filesystems."""
    entries: list[Entry] = []
    for line in lines:
        if line.startswith("*"):
            continue
        if line.rstrip().endswith(":"):
            mount = line.strip()[:-1]
            fields = {"mount": mount, "device": "unknown", "fstype": "unknown", "attributes": {}}
            entries.append({"line": line, "fields": fields})
            continue
        name, sign, value = line.partition("=")
        if not sign or not entries:
            return []
        fields = entries[-1]["fields"]
        entries[-1]["line"] += f"\n{line}"
        fields["attributes"][name.strip()] = value.strip()
        node, device = (fields["attributes"].get(key, "") for key in ("nodename", "dev"))
        fields["device"] = ":".join(part for part in (node, device) if part) or "unknown"
        fields["fstype"] = fields["attributes"].get("vfs", "unknown")
    return entries


def entries_of_program(ctx: HostContext, name: str, timeout: Optional[float]) -> list[Entry]:
    """What `mount` prints; TimeoutError when it takes too long."""
    tool = needed(name, "it belongs to util-linux; mount_binary names another program")
    try:
        ran = ctx.run([tool], env={"LC_ALL": "C"}, timeout=timeout)
    except Failed as failed:
        raise TimeoutError(str(failed)) from None
    if ran.rc:
        raise Failed(f"Failed to execute {tool}: {ran.err.strip()}", rc=ran.rc)
    entries = []
    for line in ran.out.splitlines():
        match = _LINUX.match(line) or _BSD.match(line)
        if match:
            fields = {key: value for key, value in match.groupdict().items() if value is not None}
            entries.append({"line": line, "fields": fields})
    return entries


def _unescaped(text: str) -> str:
    """Blanks and the like stand as a backslash and three octal digits in these tables."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
