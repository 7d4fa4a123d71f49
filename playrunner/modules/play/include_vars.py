"""play.include_vars: variables from a file or a folder of files, read when the step runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from playrunner.errors import BadInput
from playrunner.hostside.module import Failed, Probe
from playrunner.run.context import Context
from playrunner.text.documents import read_text, read_variables
from playrunner.text.layered import Layered
from playrunner.text.merging import merged
from playrunner.vault.envelope import is_encrypted

SUFFIXES = ["yaml", "yml", "json"]


class IncludeVars(Probe):
    """Variables from a file or a folder of files, read when the step runs."""

    gives_facts = True
    free_form = "file"

    file: str | None = None  # the file, looked for under vars/
    dir: str | None = None  # a folder whose files are read in the order of their names
    name: str | None = None  # put everything under this one variable
    depth: int = 0  # how many folders down; 0 for all
    files_matching: str | None = None  # only files whose names match this expression
    ignore_files: list[str] = []  # names (expressions) to leave out
    extensions: list[str] = SUFFIXES  # which endings count
    ignore_unknown_extensions: bool = False  # skip other files instead of failing
    # merge: mappings are merged with those of the same name, instead of replacing them
    hash_behaviour: Literal["replace", "merge"] | None = None

    def look(self, ctx: Context) -> dict[str, Any]:
        if (self.file is None) == (self.dir is None):
            raise _failure('Could not find file: include_vars takes either "file" or "dir"')
        files = [self._found(ctx, str(self.file))] if self.file is not None else self._folder(ctx)
        contents = Layered()
        for file in files:
            contents.add(self._read(file))
        facts = {self.name: contents} if self.name else contents
        if self.hash_behaviour == "merge":
            facts = {name: self._merged(ctx, name, value) for name, value in facts.items()}
        result: dict[str, Any] = {
            "ansible_facts": facts,
            "ansible_included_var_files": [str(file) for file in files],
        }
        if any(is_encrypted(read_text(file)) for file in files):
            result["_ansible_no_log"] = True
        return result

    def _merged(self, ctx: Context, name: str, value: Any) -> Any:
        known = ctx.known(name)
        return merged(dict(known), value) if known is not None else value

    def _found(self, ctx: Context, name: str) -> Path:
        try:
            return ctx.find(name, "vars")
        except BadInput as error:
            raise _failure(f"Could not find file: {error.message}") from None

    def _folder(self, ctx: Context) -> list[Path]:
        top = self._found(ctx, str(self.dir))
        if not top.is_dir():
            raise Failed(f"{top} is not a folder")
        files = []
        for path in sorted(path for path in top.rglob("*") if path.is_file()):
            deep = len(path.relative_to(top).parts)
            if (self.depth and deep > self.depth) or any(
                re.search(skip, path.name) for skip in self.ignore_files
            ):
                continue
            if self.files_matching and not re.search(self.files_matching, path.name):
                continue
            if path.suffix.lstrip(".") in self.extensions:
                files.append(path)
            elif not self.ignore_unknown_extensions:
                text = f"{path} does not have a valid extension: {', '.join(self.extensions)}"
                raise _failure(text)
        return files

    def _read(self, file: Path) -> dict[str, Any]:
        value = read_variables(file)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise Failed(f"{file} must hold a mapping of names to values")
        return value


def _failure(text: str) -> Failed:
    failure = Failed(text)
    failure.values["message"] = text  # what Ansible's result has beside msg
    return failure
