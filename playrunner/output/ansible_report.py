"""Prints a run as Ansible's default callback does, for scripts that read ansible-playbook's
output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import Place
from playrunner.model import AFTER_ITS_INCLUDES, Play
from playrunner.options import Options
from playrunner.output.ansible_diff import ansible_diff
from playrunner.output.ansible_origin import shown_origin
from playrunner.output.custom_stats import custom_stats, stats_lines
from playrunner.output.report import Report
from playrunner.output.terminal import Painted, Terminal
from playrunner.output.warned import Warned
from playrunner.results import CENSORED, Item, Recap, Result
from playrunner.text.streams import in_one_line

COLUMNS = 79
HIDDEN = (
    "the output has been hidden due to the fact that 'no_log: true' was specified for this result"
)
HIDDEN_ITEM = "(censored due to no_log)"
COUNTS = ("ok", "changed", "unreachable", "failed", "skipped", "rescued", "ignored")
_WORDS = {"ok": "ok", "changed": "changed", "skipped": "skipping", "unknown": "skipping"}
_INCLUDES = ("play.include_tasks", "play.include_role")
_ALWAYS_SHOWN = ("play.debug", "play.assert")
_OF_ACTIONS = ("play.fail", "play.assert")


class AnsibleReport(Report):
    """What ansible-playbook would have printed of the run."""

    def __init__(
        self,
        options: Options,
        terminal: Terminal | None = None,
        playbooks: Sequence[tuple[str, Sequence[Play]]] = (),
    ) -> None:
        super().__init__(options, terminal)
        self.silent = False
        self._playbooks = [each for each in playbooks if each[1]]  # not yet begun
        self.recap = Recap()
        self.ended_by: Exception | None = None
        self._banner: object = None

    def play_starts(self, play: Play, hosts: list[str]) -> None:
        self.flush()
        self._banner = None
        self._held.play_starts(hosts)
        if self._playbooks and play is self._playbooks[0][1][0]:
            self._print_playbook(*self._playbooks.pop(0))
        self._print_banner(f"PLAY [{play.name}]")
        if not hosts:
            self.terminal.line(Painted("skipping: no hosts matched", "skipped"))

    def add_meta(self, result: Result) -> None:
        self._held.add(result)

    def output(self, host: str, text: str) -> None:
        """Ansible shows nothing of a step that is still running."""

    def finish(self, recap: Recap, run_id: str, folder: str, exit_code: int) -> None:
        self.flush()
        self.terminal.live("")
        self.recap = recap
        self._print_banner("PLAY RECAP")
        for host, counts in sorted(recap.hosts.items()):
            shown = {**counts, "skipped": counts["skipped"] + counts["unknown"]}
            if any(shown.values()):
                words = " ".join(f"{name}={shown[name]:<4}" for name in COUNTS)
                self.terminal.line(f"{host:<26} : {words}")
        self.terminal.line("")
        stats = custom_stats(self.results) if ansible_config().flag("show_custom_stats") else {}
        if stats:
            self._print_banner("CUSTOM STATS:")
            for line in stats_lines(stats):
                self.terminal.line(line)
            self.terminal.line("")

    def print_note(self, text: str) -> None:
        super().print_note(f"[WARNING]: {text.removeprefix('warning: ')}")

    def print_warning(self, text: str, word: str, place: Place) -> None:
        self._warned.add((text, place))
        self.print_note(f"{text}\n{shown_origin(place, word)}")

    def print_error(self, error: Exception) -> None:
        self.flush()
        self.terminal.live("")
        self.ended_by = error
        print_ansible_error(error)
        if self.terminal.log:
            self.terminal.log.add(f"[ERROR]: {error}", "ERROR")

    def _print_playbook(self, name: str, plays: Sequence[Play]) -> None:
        if self.options.verbose > 1:
            self._print_banner(f"PLAYBOOK: {os.path.basename(name)}")
            self.terminal.line(f"{len(plays)} plays in {name}")

    def _print_banner(self, text: str) -> None:
        stars = "*" * max(3, COLUMNS - len(text))
        self.terminal.line("")
        self.terminal.line(Painted(in_one_line(f"{text} {stars}"), "bold"))

    def _print_warned(self, warned: Warned) -> None:
        if warned.result:
            self._print_step(warned.result)
        super()._print_warned(warned)

    def _print_step(self, result: Result) -> None:
        """The line above the results of a step."""
        banner = (result.play, result.position, result.step)
        if banner != self._banner:
            self._banner = banner
            handler = AFTER_ITS_INCLUDES in result.position
            self._print_banner(f"{'RUNNING HANDLER' if handler else 'TASK'} [{result.step}]")
            if self.options.verbose > 1:
                self.terminal.line(f"task path: {os.path.abspath(str(result.place))}")

    def _print_meta(self, result: Result) -> None:
        self._banner = None  # each host has its own
        self._print_step(result)
        if self.options.verbose > 1:
            self.terminal.line(f"META: {result.values.get('skip_reason') or result.message}")
        if result.status == "skipped":
            self._print_line(result, result.status, result.values, None)

    def _print_result(self, result: Result) -> None:
        if result.module == "play.meta" and result.status in ("ok", "skipped"):
            self._print_meta(result)
            return
        self._print_step(result)
        for state in result.polls:
            self.terminal.line(Painted(_poll_line(result.host, state), "skipped"))
        if result.module in _INCLUDES and result.status == "ok":
            self._print_include(result)
            return
        for item in result.items:
            self._print_line(result, item.status, item.values, item)
        if not result.items or result.status == "skipped":
            self._print_line(result, result.status, result.values, None)
        if result.status in ("failed", "unreachable") and result.ignored:
            self.terminal.line(Painted("...ignoring", "skipped"))

    def _print_include(self, result: Result) -> None:
        for item in result.items or (None,):
            values = item.values if item else result.values
            include = values.get("include")
            if not isinstance(include, Mapping):
                self._print_line(result, item.status if item else result.status, values, item)
                continue
            name = str(include.get("file") or include.get("name"))
            beside = os.path.join(os.path.dirname(os.path.abspath(result.place.file)), name)
            label = f" => (item={item.label})" if item else ""
            shown = beside if include.get("file") and os.path.exists(beside) else name
            self.terminal.line(Painted(f"included: {shown} for {result.host}{label}", "skipped"))

    def _print_line(
        self, result: Result, status: str, values: Mapping[str, Any], item: Item | None
    ) -> None:
        for text in values.get("warnings") or ():
            self.print_note(str(text))
        if values.get("diff") and self.options.diff:
            for line in ansible_diff(values["diff"], values):
                self.terminal.line(Painted(line, line[:1]))
            self.terminal.line("")
        elsewhere = result.delegated_to not in ("", result.host)
        arrow = f" -> {result.delegated_to}" if elsewhere else ""
        host = f"[{result.host}{arrow}]"
        label = f"(item={HIDDEN_ITEM if values is CENSORED else item.label})" if item else ""
        if status in ("failed", "unreachable"):
            self._print_failed(result, status, values, f"{host} {label}" if item else f"{host}:")
            return
        text = f"{_WORDS[status]}: {host}" + (f" => {label}" if item else "")
        if self._is_verbose(result, status):
            text += f" => {self._dumped(result, values)}"
        elif item and status in ("skipped", "unknown"):
            text += " "
        self.terminal.line(Painted(text, status))

    def _print_failed(
        self, result: Result, status: str, values: Mapping[str, Any], host: str
    ) -> None:
        if "censored" not in values:
            self._print_cause(result, str(values.get("msg", "")))
        dumped = self._dumped(result, values)
        if status == "unreachable":
            text = f"fatal: {host} UNREACHABLE! => {dumped}"
        elif host.endswith(":"):
            text = f"fatal: {host} FAILED! => {dumped}"
        else:
            text = f"failed: {host} => {dumped}"
        self.terminal.line(Painted(text, status))

    def _print_cause(self, result: Result, message: str) -> None:
        kind = "Action" if result.module in _OF_ACTIONS else "Module"
        prefix = "" if message.startswith("Task failed") else f"Task failed: {kind} failed: "
        self.terminal.line(Painted(f"[ERROR]: {prefix}{message}", "failed"))
        if result.place.file:
            for line in shown_origin(result.place).splitlines():
                self.terminal.line(line)
        self.terminal.line("")

    def _is_verbose(self, result: Result, status: str) -> bool:
        always = result.module in _ALWAYS_SHOWN and status in ("ok", "changed")
        return always or self.options.verbose > 0

    def _dumped(self, result: Result, values: Mapping[str, Any]) -> str:
        """A result as one line of JSON, or indented where Ansible does so."""
        if "censored" in values:
            values = {"censored": HIDDEN, "changed": bool(values.get("changed"))}
        left_out = {"diff", "exception", "warnings", "deprecations", "failed"}
        if result.module == "play.meta":
            left_out.add("skipped")
        if result.module == "play.debug" and not values.get("failed"):
            left_out |= {"changed", "skipped", "item", "ansible_loop_var", "ansible_loop"}
        shown = {
            name: value
            for name, value in values.items()
            if not name.startswith("_") and name not in left_out
        }
        indented = result.module in _ALWAYS_SHOWN or self.options.verbose > 2
        return json.dumps(
            shown,
            indent=4 if indented else None,
            sort_keys=all(isinstance(name, str) for name in shown),
            ensure_ascii=False,
            default=str,
        )


def _poll_line(host: str, state: Mapping[str, Any]) -> str:
    job = state.get("ansible_job_id")
    if not state.get("finished"):
        return f"ASYNC POLL on {host}: jid={job} started=1 finished=0"
    return f"ASYNC {'FAILED' if state.get('failed') else 'OK'} on {host}: jid={job}"


def print_ansible_error(error: Exception) -> None:
    """A message and its place on standard error, in Ansible's form."""
    message = getattr(error, "message", str(error))
    place = getattr(error, "place", None)
    sys.stderr.write(f"[ERROR]: {message}\n")
    if place and place.file:
        sys.stderr.write(shown_origin(place))
    sys.stderr.flush()
