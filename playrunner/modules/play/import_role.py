"""play.import_role: the steps of a role, as if they were written here."""

from __future__ import annotations

from playrunner.hostside.module import Probe


class ImportRole(Probe):
    """The steps of a role, as if they were written here."""

    aliases = {"role": "name"}

    name: str  # the role
    tasks_from: str | None = None  # another file than main under tasks/
    vars_from: str | None = None  # another file than main under vars/
    defaults_from: str | None = None  # another file than main under defaults/
    handlers_from: str | None = None  # another file than main under handlers/
    allow_duplicates: bool = True  # run it again though it ran before
    # Check its variables against meta/argument_specs.yml before its first step
    rolespec_validate: bool = True
    public: bool = True  # its variables belong to the whole play
