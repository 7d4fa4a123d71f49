"""host.service_facts: the services of the host, with their states."""

from __future__ import annotations

import os

from playrunner.hostside.module import Probe
from playrunner.modules.host._packages import program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext

    Services = dict[str, dict[str, Any]]

_PLAIN = {"LC_ALL": "C"}
_BAD = ("not-found", "masked", "failed")  # what is said of a unit before anything else
_RUN_LEVEL = 3  # the one whose setting counts as enabled


class ServiceFacts(Probe):
    """The services of the host with their states, as the fact `services`."""

    gives_facts = True
    plain_facts = ("services",)

    def look(self, ctx: HostContext) -> dict[str, Any]:
        chkconfig, openrc = program("chkconfig"), program("rc-status")
        services: Services = {}
        if chkconfig:
            services.update(_by_chkconfig(ctx, chkconfig))
        elif openrc:
            services.update(_by_openrc(ctx, openrc))
        else:
            services.update(_by_service(ctx))
        if os.path.isdir("/run/systemd/system"):
            services.update(_by_systemd(ctx))
        if not services:
            return {
                "skipped": True,
                "msg": "Failed to find any services. This can be due to privileges or some other"
                " configuration issue.",
            }
        return {"ansible_facts": {"services": services}}


def _by_service(ctx: HostContext) -> Services:
    tool = program("service")
    if tool is None:
        return {}
    ran = ctx.run([tool, "--status-all"], env=_PLAIN)
    services: Services = {}
    for line in ran.out.splitlines():
        sign, bracket, name = line.strip().partition("]")
        state = {"[ + ": "running", "[ - ": "stopped"}.get(sign)
        if state and bracket:
            name = name.strip()
            services[name] = {"name": name, "state": state, "source": "sysv"}
    return services


def _by_chkconfig(ctx: HostContext, tool: str) -> Services:
    services: Services = {}
    for line in ctx.run([tool, "--list"], env=_PLAIN).out.splitlines():
        name, *levels = line.split()
        if len(levels) != 7:
            continue
        ran = ctx.run([program("service") or "service", name, "status"], env=_PLAIN)
        services[name] = {
            "name": name,
            "state": "running" if ran.rc == 0 else "stopped",
            "status": "enabled" if levels[_RUN_LEVEL].endswith("on") else "disabled",
            "source": "sysv",
        }
    return services


def _by_openrc(ctx: HostContext, tool: str) -> Services:
    levels: dict[str, Any] = {}
    for line in ctx.run([program("rc-update") or "rc-update", "show", "-v"]).out.splitlines():
        name, bar, rest = line.partition("|")
        if bar:
            levels[name.strip()] = rest.split() or None
    services: Services = {}
    for line in ctx.run([tool, "-a", "-s", "-m"], env=_PLAIN).out.splitlines():
        words = line.replace("[", " ").replace("]", " ").split()
        if line.startswith(" ") and len(words) > 1 and words[0] in levels:
            services[words[0]] = {
                "name": words[0],
                "runlevels": levels[words[0]],
                "state": words[1],
                "source": "openrc",
            }
    return services


def _by_systemd(ctx: HostContext) -> Services:
    tool = program("systemctl")
    if tool is None:
        return {}
    kind = ["--no-pager", "--no-legend", "--type", "service", "--all"]
    services: Services = {}
    for line in ctx.run([tool, "list-units", *kind, "--plain"], env=_PLAIN).out.splitlines():
        words = line.split()
        if len(words) > 3 and words[0].endswith(".service"):
            bad = next((word for word in _BAD if word in words[:4]), None)
            services[words[0]] = {
                "name": words[0],
                "state": "running" if words[3] == "running" else "stopped",
                "status": bad or words[2],
                "source": "systemd",
            }
    files = [
        line.split()[:2]
        for line in ctx.run([tool, "list-unit-files", *kind], env=_PLAIN).out.splitlines()
        if ".service" in line and len(line.split()) > 1
    ]
    missing = [name for name, _ in files if name not in services]
    states = _active_states(ctx, tool, missing)
    for name, status in files:
        if name in states:
            services[name] = {
                "name": name,
                "state": states[name],
                "status": status,
                "source": "systemd",
            }
        elif services[name]["status"] not in _BAD:
            services[name]["status"] = status
    return services


def _active_states(ctx: HostContext, tool: str, names: list[str]) -> dict[str, str]:
    """Units that are not loaded, all in one question. A template has no state of its own."""
    plain = [name for name in names if "@." not in name]
    states = dict.fromkeys(names, "unknown")
    if plain:
        ran = ctx.run([tool, "show", "--property=ActiveState", *plain], env=_PLAIN)
        values = [line.partition("=")[2] for line in ran.out.splitlines() if line.strip()]
        if ran.rc == 0 and len(values) == len(plain):
            states.update(zip(plain, values))  # noqa: B905
    return states
