"""What callback plugins see of a run: plays, tasks, hosts and results under Ansible's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playrunner.model import Play
    from playrunner.results import Recap, Result


class _Named:
    """Something with a name and an identity."""

    def __init__(self, name: str) -> None:
        import uuid  # a few milliseconds, for callback plugins only

        self.name, self._uuid = name, str(uuid.uuid4())

    def get_name(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name


class PlaybookView:
    """The playbook that is run."""

    def __init__(self, file: str, plays: Sequence[Play]) -> None:
        self._file_name, self._basedir = file, str(Path(file).parent)
        self._plays = plays

    def get_plays(self) -> list[PlayView]:
        return [PlayView(play) for play in self._plays]


class PlayView(_Named):
    """One play."""

    def __init__(self, play: Play | None) -> None:
        super().__init__(play.name if play else "")
        self.hosts = play.hosts if play else []
        self.strategy = play.strategy if play else ""
        self.check_mode = False
        self.vars = dict(play.vars) if play else {}

    def get_vars(self) -> dict[str, Any]:
        return dict(self.vars)


class TaskView(_Named):
    """One task, as its first result shows it."""

    def __init__(self, result: Result, play: PlayView) -> None:
        role, separator, short = result.step.partition(" : ")
        super().__init__(short if separator else result.step)
        self._title, self._place = result.step, str(result.place)
        self._role = _Named(role) if separator else None
        self._play = self.play = self._parent = play
        self.action = self.resolved_action = result.module
        self.args: dict[str, Any] = {}
        self.loop = [item.label for item in result.items] or None
        self.no_log = "censored" in result.values
        self.check_mode = self.diff = False
        self.tags: list[str] = []
        self.when: list[Any] = []
        self.delegate_to = result.delegated_to or None

    def get_name(self, include_role_fqcn: bool = True) -> str:
        return self._title

    def get_path(self) -> str:
        return self._place


class HostView(_Named):
    """One host."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.vars: dict[str, Any] = {}
        self.address = name


class ResultView:
    """What a task did on a host."""

    def __init__(self, host: HostView, task: TaskView, values: Mapping[str, Any]) -> None:
        self._host = self.host = host
        self._task = self.task = task
        self._result = self.result = dict(values)
        self._task_fields = self.task_fields = {"name": task.name, "args": task.args}
        self.task_name = task.get_name()

    def is_changed(self) -> bool:
        return bool(self._result.get("changed"))

    def is_skipped(self) -> bool:
        return bool(self._result.get("skipped"))

    def is_failed(self) -> bool:
        return bool(self._result.get("failed"))

    def is_unreachable(self) -> bool:
        return bool(self._result.get("unreachable"))

    def needs_debugger(self, globally_enabled: bool = False) -> bool:
        return False

    def clean_copy(self) -> ResultView:
        return ResultView(self._host, self._task, self._result)


class StatsView:
    """The recap."""

    def __init__(self, recap: Recap) -> None:
        self._hosts = recap.hosts
        self.processed = dict.fromkeys(recap.hosts, 1)
        for name, ours in _COUNTS.items():
            counts = {host: count[ours] for host, count in recap.hosts.items() if count[ours]}
            setattr(self, name, counts)
        self.custom: dict[str, Any] = {}

    def summarize(self, host: str) -> dict[str, int]:
        counts = self._hosts.get(host, {})
        return {
            ("unreachable" if name == "dark" else name): counts.get(ours, 0)
            for name, ours in _COUNTS.items()
        }


_COUNTS = {
    "ok": "ok",
    "failures": "failed",
    "dark": "unreachable",
    "changed": "changed",
    "skipped": "skipped",
    "rescued": "rescued",
    "ignored": "ignored",
}
