"""Callback plugins written for Ansible, which get to know what a run does.

They hear of plays, tasks and results in Ansible's order: of a task when its first result is there,
since steps are sent to hosts ahead of time. Output stays ours, so plugins that replace it are left
out.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any

from playrunner.errors import BadInput
from playrunner.plugins import ansible_library, folders
from playrunner.run.external.callback_views import (
    HostView,
    PlaybookView,
    PlayView,
    ResultView,
    StatsView,
    TaskView,
)

if TYPE_CHECKING:
    from playrunner.model import Play
    from playrunner.output.report import Report
    from playrunner.results import Recap, Result

_METHODS = {
    "ok": "ok",
    "changed": "ok",
    "unknown": "skipped",
    "skipped": "skipped",
    "failed": "failed",
    "unreachable": "unreachable",
}


def open_callbacks(plays: Sequence[Play], report: Report) -> Callbacks | None:
    """The callback plugins of this run; None, and nothing is loaded, where there are none."""
    names = list(_names())
    if not names:
        return None
    loaded = [plugin for plugin in map(_load, names) if plugin is not None]
    return Callbacks(loaded, plays, report) if loaded else None


class Callbacks:
    """Calls the methods of the plugins; one that fails is reported once and not called again."""

    def __init__(self, plugins: list[Any], plays: Sequence[Play], report: Report) -> None:
        self._plugins, self._report = plugins, report
        self._lock = threading.Lock()
        self._tasks: dict[tuple[Any, ...], TaskView] = {}
        self._play = PlayView(None)
        file = plays[0].place.file if plays else ""
        self._call("v2_playbook_on_start", PlaybookView(file, plays))

    def play_starts(self, play: Play) -> None:
        with self._lock:
            self._tasks.clear()
            self._play = PlayView(play)
            self._call("v2_playbook_on_play_start", self._play)

    def add_result(self, result: Result) -> None:
        with self._lock:
            key = (result.play, result.position, str(result.place), result.step)
            task = self._tasks.get(key)
            if task is None:
                task = self._tasks[key] = TaskView(result, self._play)
                self._call("v2_playbook_on_task_start", task, False)
            host = HostView(result.host)
            self._call("v2_runner_on_start", host, task)
            for state in result.polls:
                view = ResultView(host, task, state)
                self._call(f"v2_runner_on_async_{_async_event(state)}", view)
            for item in result.items:
                method = _METHODS[item.status]
                if method != "unreachable":
                    view = ResultView(
                        host, task, {**item.values, "_ansible_item_label": item.label}
                    )
                    self._call(f"v2_runner_item_on_{method}", view)
            self._call(
                f"v2_runner_on_{_METHODS[result.status]}",
                ResultView(host, task, dict(result.values)),
                **({"ignore_errors": result.ignored} if result.status == "failed" else {}),
            )

    def finish(self, recap: Recap) -> None:
        with self._lock:
            self._call("v2_playbook_on_stats", StatsView(recap))

    def _call(self, method: str, *arguments: Any, **options: Any) -> None:
        # Standard output is one JSON object under --json
        quiet = redirect_stdout(sys.stderr) if self._report.options.json else nullcontext()
        with quiet:
            for plugin in list(self._plugins):
                try:
                    getattr(plugin, method, _nothing)(*arguments, **options)
                    getattr(plugin, "v2_on_any", _nothing)(*arguments, **options)
                except Exception as error:  # the plugin's own code
                    name = type(plugin).__module__.rpartition(".")[2]
                    self._report.print_note(
                        f"warning: the callback plugin {name} failed in {method} and is not called"
                        f" again: {error}"
                    )
                    self._plugins.remove(plugin)


def _async_event(state: Mapping[str, Any]) -> str:
    if not state.get("finished"):
        return "poll"
    return "failed" if state.get("failed") else "ok"


def _nothing(*_: Any, **__: Any) -> None:
    """For a method that a plugin does not have."""


def _names() -> Iterator[tuple[str, bool]]:
    """Names of plugins, each with whether the user asked for it."""
    enabled = os.environ.get("ANSIBLE_CALLBACKS_ENABLED") or os.environ.get(
        "ANSIBLE_CALLBACK_WHITELIST", ""
    )
    asked = [name.strip() for name in enabled.split(",") if name.strip()]
    beside = (
        [
            path.stem
            for folder in folders.folders("callback")
            for path in sorted(folder.glob("*.py"))
        ]
        if folders.has_any("callback")
        else []
    )
    yield from ((name, True) for name in asked)
    yield from ((name, False) for name in beside if name not in asked and name[:1] != "_")


def _load(named: tuple[str, bool]) -> Any:
    name, asked = named
    with ansible_library.lock():
        try:
            plugin_class: Any = ansible_library.loader("callback").get(name, class_only=True)
        except BadInput:
            raise
        except Exception as error:  # the plugin's own code
            raise BadInput(f'the callback plugin "{name}" cannot be loaded: {error}') from None
        if plugin_class is None:
            raise BadInput(f'there is no callback plugin "{name}" (ANSIBLE_CALLBACKS_ENABLED)')
        if getattr(plugin_class, "CALLBACK_TYPE", "") == "stdout":
            return None
        wants_asking = getattr(plugin_class, "CALLBACK_NEEDS_ENABLED", False) or getattr(
            plugin_class, "CALLBACK_NEEDS_WHITELIST", False
        )
        if wants_asking and not asked:
            return None
        try:
            plugin = plugin_class()
            plugin.set_options()
            getattr(plugin, "_init_callback_methods", _nothing)()
        except Exception as error:  # the plugin's own code
            raise BadInput(f'the callback plugin "{name}" cannot be used: {error}') from None
    return None if getattr(plugin, "disabled", False) else plugin
