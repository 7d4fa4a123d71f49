"""How a module's name finds its class, and which names there are."""

from __future__ import annotations

import importlib
import importlib.util
import marshal
import re
import struct
from functools import cache
from pathlib import Path

from playrunner.hostside.module import Module
from playrunner.playbook import external_modules
from playrunner.playbook.rejected_modules import is_rejected
from playrunner.project import CODE
from playrunner.text.did_you_mean import nearest

MODULE_PACKAGES = ("playrunner.modules", "playrunner.training.modules")  # a folder per kind in each
HOST_KINDS = ("host", "train")  # modules of these run on the hosts, inside the agent
HOST_PACKAGES = ("playrunner.modules.host", "playrunner.training.modules.train")
PACKAGES = (
    "playrunner",
    "playrunner.hostside",
    "playrunner.training",
    *MODULE_PACKAGES,
    *HOST_PACKAGES,
)
# What an agent needs for any step
EVERY_STEP = (
    *PACKAGES,
    "playrunner.hostside.request",
    "playrunner.hostside.host_context",
    "playrunner.hostside.answer",
    "playrunner.hostside.step_settings",
    "playrunner.hostside.async_job",
)

CHOSEN = "play.chosen"  # stands for a module that a template names, until the step is reached
# Names Ansible users write, and where the thing lives here.
_OTHER_NAMES = {"systemd_service": "systemd", "include": "include_tasks", "gather_facts": "setup"}
_IMPORT = re.compile(r"^\s*from (playrunner[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_PREFIXES = ("ansible.builtin.", "ansible.legacy.", "ansible.posix.", "community.general.")


@cache
def names() -> dict[str, str]:
    """Every module by its full name (host.file), with the dotted import path behind it."""
    paths = {}
    for package in MODULE_PACKAGES:
        for path in sorted(CODE.joinpath(*package.split(".")).glob("*/*.py")):
            kind = path.parent.name
            if not path.stem.startswith("_") and not kind.startswith("_"):
                paths[f"{kind}.{path.stem.rstrip('_')}"] = f"{package}.{kind}.{path.stem}"
    return paths


def canonical(name: str, in_collections: tuple[str, ...] = ()) -> str | None:
    """The full name of a module in a playbook (`copy`, `ansible.builtin.copy`, `host.copy`), or
    None."""
    if is_rejected(name):
        return None
    return (
        external_modules.overriding(name, in_collections)
        or _own(name)
        or external_modules.elsewhere(name)
    )


def _own(name: str) -> str | None:
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    name = _OTHER_NAMES.get(name, name)
    if name in names():
        return name
    return next(
        (f"{home}.{name}" for home in ("host", "play") if f"{home}.{name}" in names()), None
    )


def nearest_module(name: str) -> str:
    """A known module that is spelled almost like this."""
    short = name.rpartition(".")[2]
    spelled = {known.partition(".")[2]: known for known in names()}
    return nearest(short, [*spelled, *names()])


def import_path(name: str) -> str:
    """The dotted path of the file that runs a module."""
    if external_modules.is_external(name):
        return external_modules.import_path(name)
    if name == CHOSEN:
        return "playrunner.modules.play._chosen"
    return names()[name]


@cache
def module_class(name: str) -> type[Module]:
    """The class behind a full name; its file is imported only now."""
    path = import_path(name)
    module = importlib.import_module(path)
    wanted = "".join(part.capitalize() for part in path.rpartition(".")[2].split("_") if part)
    found = getattr(module, wanted)
    assert issubclass(found, Module), f"{path}.{wanted} is not a Module"
    return found  # type: ignore[no-any-return]


@cache
def sources(path: str = "") -> tuple[tuple[str, str], ...]:
    """The sources of a host module and of our modules that it imports, each after its imports;
    without one, what every step needs."""
    order: dict[str, str] = {}

    def visit(name: str) -> None:
        if name in order or name == "playrunner.hostside.agent":  # which already runs there
            return
        text = "" if name in PACKAGES else source_file(name).read_text()
        for package, imported in _IMPORT.findall(text):
            visit(package)
            if package in HOST_PACKAGES:  # what is imported from a package are its modules
                for leaf in re.findall(r"\w+", imported):
                    visit(f"{package}.{leaf}")
        order[name] = text

    for name in (*EVERY_STEP, *([path] if path else [])):
        visit(name)
    return tuple(order.items())


@cache
def compiled(name: str) -> bytes:
    """A module of ours as marshalled code; taken as it is from Python's own cache when that is
    fresh."""
    source = source_file(name)
    try:
        data = Path(importlib.util.cache_from_source(str(source))).read_bytes()
        status = source.stat()
        fresh = (
            importlib.util.MAGIC_NUMBER,
            0,
            int(status.st_mtime) & 0xFFFFFFFF,
            status.st_size & 0xFFFFFFFF,
        )
        if struct.unpack("<4sLLL", data[:16]) == fresh:
            return data[16:]
    except OSError:
        pass
    return marshal.dumps(compile(source.read_text(), str(source), "exec", dont_inherit=True))


def source_file(name: str) -> Path:
    return CODE / (name.replace(".", "/") + ".py")


def runs_on_host(name: str) -> bool:
    if external_modules.is_external(name):
        return not external_modules.has_action(name)
    return name.partition(".")[0] in HOST_KINDS
