"""Telling the ways of writing an inventory apart: a list of names, a folder, a program, YAML,
TOML or INI."""

from __future__ import annotations

import os
from pathlib import Path

from playrunner.errors import BadInput, Place
from playrunner.inventory.graph import Graph
from playrunner.inventory.ini_source import add_ini
from playrunner.inventory.plugin_sources import SourceContext
from playrunner.inventory.ranges import expand
from playrunner.inventory.script_source import NotAProgram, add_script, starts_with_shebang
from playrunner.inventory.toml_source import add_toml
from playrunner.inventory.value import Value
from playrunner.inventory.yaml_source import add_yaml
from playrunner.text.documents import decrypted_text, parse_yaml, read_text

IGNORED_ENDINGS = (
    ".pyc",
    ".pyo",
    ".swp",
    ".bak",
    "~",
    ".rpm",
    ".md",
    ".txt",
    ".rst",
    ".orig",
    ".cfg",
    ".retry",
)
IGNORED_NAMES = ("group_vars", "host_vars", "vars_plugins")
YAML_ENDINGS = (".yaml", ".yml", ".json")


def add_source(source: str | Path, graph: Graph, context: SourceContext) -> list[Path]:
    """Put one source into the graph; returns the files that were read."""
    path = Path(source)
    if "," in str(source) and not _exists(path):
        _add_list(str(source), graph)
        return []
    if not _exists(path):
        raise BadInput(
            "no such inventory; name a file, a folder, a script, or hosts with a comma behind them",
            Place(str(source)),
        )
    if not path.is_dir():
        _add_file(path, graph, context)
        context.folders.setdefault(path.parent)
        return [path]
    return [file for entry in _entries(path) for file in add_source(entry, graph, context)]


def is_host_list(source: str | Path) -> bool:
    return "," in str(source) and not _exists(Path(source))


def exists(source: str | Path) -> bool:
    """Whether there is something to read: a file, a folder, or a list of hosts."""
    return "," in str(source) or _exists(Path(source))


def _exists(path: Path) -> bool:
    return os.path.exists(path)  # takes any text, even too long or with a NUL


def _entries(folder: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise BadInput(f"the folder cannot be read: {error.strerror}", Place(str(folder))) from None
    return [
        folder / name
        for name in names
        if not name.startswith(".")
        and name not in IGNORED_NAMES
        and not name.endswith(IGNORED_ENDINGS)
    ]


def _add_list(text: str, graph: Graph) -> None:
    place = Place("command line")
    for written in filter(None, (part.strip() for part in text.split(","))):
        names, port = expand(written, place)
        for name in names:
            graph.add_host(name, "ungrouped", place)
            if port is not None:
                graph.set_host_values(name, {"ansible_port": Value(port, place, f"host {name}")})


def _add_file(path: Path, graph: Graph, context: SourceContext) -> None:
    file = str(path)
    if os.access(path, os.X_OK):
        try:
            add_script(path, graph)
            return
        except NotAProgram:
            pass
    elif starts_with_shebang(path):
        raise BadInput(
            f"this looks like a script but may not be executed; run: chmod +x {path}", Place(file)
        )
    text = decrypted_text(read_text(path), path)
    if path.suffix == ".toml":
        add_toml(text, file, graph)
    elif path.suffix in YAML_ENDINGS or (path.suffix in ("", ".config") and _looks_like_yaml(text)):
        add_yaml(parse_yaml(text, file), file, graph, context)
    else:
        add_ini(text, file, graph)


def _looks_like_yaml(text: str) -> bool:
    """Whether the first line with content opens a mapping; no INI line has a colon behind
    its first word."""
    for line in text.splitlines():
        words = line.split()
        if words and not words[0].startswith(("#", ";")):
            return words[0].endswith(":") or words[0].startswith(("---", "{", "%YAML"))
    return False
