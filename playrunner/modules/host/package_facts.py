"""host.package_facts: the packages that are installed on the host."""

from __future__ import annotations

from playrunner.hostside.module import Failed, Probe
from playrunner.modules.host._package_lists import LISTS, SAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from playrunner.hostside.host_context import HostContext


class PackageFacts(Probe):
    """The installed packages, as the fact `packages`: name to a list of what is known of it."""

    gives_facts = True
    plain_facts = ("packages",)
    # Package managers to ask: apt, rpm (also dnf, dnf5, yum, zypper), apk, pacman, portage, pkg
    manager: list[str] = ["auto"]
    strategy: Literal["first", "all"] = "first"  # ask until one answers, or all of them

    def look(self, ctx: HostContext) -> dict[str, Any]:
        asked = [name.lower() for name in self.manager]
        unknown = sorted({*asked} - {"auto", *LISTS, *SAME})
        if unknown:
            raise Failed(f"Unsupported package managers requested: {', '.join(unknown)}")
        order = [name for name in asked if name != "auto"]
        order += sorted(LISTS) if "auto" in asked else []
        packages: dict[str, list[dict[str, Any]]] = {}
        for name in dict.fromkeys(SAME.get(name, name) for name in order):
            rows = LISTS[name](ctx)
            if rows is None:
                if name in asked:
                    ctx.warn(
                        f"Requested package manager {name} was not usable by this module: it is not"
                        " on this host"
                    )
                continue
            for row in rows:
                packages.setdefault(row["name"], []).append({**row, "source": name})
            if rows and self.strategy == "first":
                break
        if not packages:
            raise Failed(
                f"Could not detect a supported package manager from the following list: {order}"
            )
        return {"ansible_facts": {"packages": packages}}
