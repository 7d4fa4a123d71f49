"""The variables that are known while a playbook is loaded, for the templates of imports and plays.

They are --extra-vars, the variables of the play with its vars_files, and those of the role, block
and task around; nothing of a host.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, Place, PlayrunnerError
from playrunner.playbook.surroundings import Surroundings
from playrunner.text.documents import read_yaml
from playrunner.text.written import is_template
from playrunner.variables.templating import MISSING, default_templar


class LoadScope:
    """Layers of variables, strongest first; values are rendered when they are read."""

    foreign: list[str] = []  # everything here is written by the author

    def __init__(self, layers: Sequence[Mapping[str, Any]], folders: Sequence[Path]) -> None:
        self._layers, self._folders = layers, folders
        self._rendering: set[str] = set()

    def lookup(self, name: str) -> Any:
        for layer in self._layers:
            if name in layer:
                return self._rendered(name, layer[name])
        return MISSING

    given = lookup

    def _rendered(self, name: str, value: Any) -> Any:
        if name in self._rendering:
            raise BadInput(f'the variable "{name}" is defined by itself')
        self._rendering.add(name)
        try:
            return default_templar.render_variable(value, self)
        finally:
            self._rendering.discard(name)

    def names(self) -> Iterable[str]:
        return {name for layer in self._layers for name in layer}

    def wait_for_steps(self) -> None:
        """No step runs yet."""

    def find(self, path: str, folder: str) -> Path:
        wanted = os.path.expanduser(path)
        for place in self.search_path(folder):
            if os.path.exists(place / wanted):
                return place / wanted
        raise BadInput(f'there is no file "{path}"')

    def search_path(self, folder: str) -> list[Path]:
        return [place for base in self._folders for place in (base / folder, base)]

    def traced(self) -> LoadScope:
        return self


class VarsFiles(Mapping[str, Any]):
    """The variables of a play's vars_files, read when one is first asked for."""

    def __init__(self, entries: Sequence[Any], directory: Path) -> None:
        self._entries, self._directory = entries, directory
        self._values: dict[str, Any] | None = None

    def __getitem__(self, name: str) -> Any:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def _read(self) -> dict[str, Any]:
        """Files with a plain name that are there; the others are known when the play runs."""
        if self._values is None:
            self._values = {}
            for entry in self._entries:
                for name in entry if isinstance(entry, list) else [entry]:
                    file = self._file(name)
                    if file is not None:
                        found = read_yaml(file)
                        self._values.update(found if isinstance(found, dict) else {})
                        break
        return self._values

    def _file(self, name: Any) -> Path | None:
        if not isinstance(name, str) or is_template(name):
            return None
        for folder in (self._directory / "vars", self._directory):
            if os.path.isfile(folder / os.path.expanduser(name)):
                return folder / os.path.expanduser(name)
        return None


def rendered_at_load(value: Any, what: str, place: Place, around: Surroundings) -> Any:
    """A value that has to be known before the first host is reached, perhaps from a template."""
    if not is_template(value):
        return value
    role, (extra, *of_play) = around.role, around.known or ({},)
    layers = [
        extra,
        *([role.params] if role else []),
        *reversed(around.keywords.vars),
        *([role.vars] if role else []),
        *of_play,
        *([role.defaults] if role else []),
        _magic(around),
    ]
    folders = [*([role.path] if role else []), around.directory, around.play_directory]
    try:
        return default_templar.render(value, LoadScope(layers, folders))
    except PlayrunnerError as error:
        raise BadInput(
            f"{what}: {getattr(error, 'message', error)}; while a playbook is loaded only"
            " --extra-vars and the variables of the play, role, block and task are known",
            place,
        ) from None


def _magic(around: Surroundings) -> dict[str, Any]:
    names: dict[str, Any] = {"playbook_dir": str(around.play_directory.absolute())}
    if around.role:
        names |= {"role_path": str(around.role.path.absolute()), "role_name": around.role.name}
        names["ansible_role_name"] = around.role.name
    return names
