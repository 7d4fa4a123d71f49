"""play.import_tasks: steps from another file, as if they were written here."""

from __future__ import annotations

from playrunner.hostside.module import Probe


class ImportTasks(Probe):
    """Steps from another file, as if they were written here."""

    free_form = "file"

    file: str  # the file, looked for beside this one and in the role's tasks
