"""host.getent: entries of the host's databases: users, groups, hosts, services, ..."""

from __future__ import annotations

from playrunner.hostside.module import Failed, Probe
from playrunner.modules.host._packages import needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext

_COLONS = ("passwd", "shadow", "group", "gshadow")  # databases whose fields colons separate
_PROBLEMS = {
    1: "Missing arguments, or database unknown.",
    2: "One or more supplied key could not be found in the database.",
    3: "Enumeration not supported on this database.",
}  # the exit statuses of getent
_NOT_FOUND = 2


class Getent(Probe):
    """Entries of a database of the host, as the fact `getent_DATABASE`."""

    gives_facts = True
    plain_facts = ("getent_*",)
    database: str  # passwd, group, hosts, services, ...
    key: str | None = None  # the entry; all of them when not given
    split: str | None = None  # what separates fields, where it is not known
    fail_key: bool = True  # a missing entry is a failure
    service: str | None = None  # ask only this source of the name service switch

    def look(self, ctx: HostContext) -> dict[str, Any]:
        command = [needed("getent", "it belongs to the C library's tools"), self.database]
        command += [self.key] if self.key is not None else []
        command += ["-s", self.service] if self.service is not None else []
        ran = ctx.run(command)
        fact = f"getent_{self.database}"
        if ran.rc == 0:
            return {"ansible_facts": {fact: self._entries(ran.out)}}
        problem = _PROBLEMS.get(ran.rc, f"Unexpected failure! {ran.err.strip()}")
        if ran.rc == _NOT_FOUND and not self.fail_key:
            return {"ansible_facts": {fact: {self.key: None}}, "msg": problem}
        raise Failed(problem)

    def _entries(self, text: str) -> dict[str, Any]:
        separator = self.split or (":" if self.database in _COLONS else None)
        rows: dict[str, list[list[str]]] = {}
        for line in text.splitlines():
            name, *fields = line.split(separator)
            rows.setdefault(name, []).append(fields)
        # An entry with several lines, such as a host with several addresses, is a list of them.
        return {name: lines[0] if len(lines) == 1 else lines for name, lines in rows.items()}
