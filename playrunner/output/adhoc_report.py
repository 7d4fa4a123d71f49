"""Prints the results of one step as the program `ansible` does: a paragraph or a line per host."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from playrunner.model import Play
from playrunner.options import Options
from playrunner.output.ansible_diff import ansible_diff
from playrunner.output.ansible_report import AnsibleReport
from playrunner.output.terminal import Painted, Terminal
from playrunner.results import Recap, Result

_COMMANDS = ("host.command", "host.shell", "host.raw", "host.script")
_LEFT_OUT = ("diff", "exception", "warnings", "deprecations", "failed", "invocation")
_STATES = {"ok": "SUCCESS", "changed": "CHANGED", "failed": "FAILED"}


class AdhocReport(AnsibleReport):
    """Nothing but results; each host's when it is there."""

    def __init__(self, options: Options, one_line: bool, terminal: Terminal | None = None) -> None:
        super().__init__(options, terminal)
        self._one_line = one_line

    def play_starts(self, play: Play, hosts: list[str]) -> None:
        self.flush()
        self._held.play_starts(hosts)

    def finish(self, recap: Recap, run_id: str, folder: str, exit_code: int) -> None:
        self.flush()
        self.terminal.live("")
        self.recap = recap

    def _print_step(self, result: Result) -> None:
        """There is only one step."""

    def _print_result(self, result: Result) -> None:
        for text in result.values.get("warnings") or ():
            self.print_note(str(text))
        if result.values.get("diff") and self.options.diff:
            for line in ansible_diff(result.values["diff"], result.values):
                self.terminal.line(Painted(line, line[:1]))
            self.terminal.line("")
        for line in self._lines(result):
            self.terminal.line(Painted(line, result.status))

    def _lines(self, result: Result) -> list[str]:
        values, host = result.values, result.host
        if result.status in ("skipped", "unknown"):
            return [f"{host} | SKIPPED"]
        if result.status == "unreachable":
            if self._one_line:
                return [f"{host} | UNREACHABLE!: {values.get('msg', '')}"]
            return [f"{host} | UNREACHABLE! => {self._json(values)}"]
        state = _STATES[result.status]
        if result.module in _COMMANDS and "ansible_job_id" not in values and "rc" in values:
            return self._of_command(host, state, values)
        mark = "FAILED!" if state == "FAILED" else state
        return [f"{host} | {mark} => {self._json(values)}"]

    def _of_command(self, host: str, state: str, values: Mapping[str, Any]) -> list[str]:
        out, err = str(values.get("stdout", "")), str(values.get("stderr", ""))
        head = f"{host} | {state} | rc={values['rc']}"
        if self._one_line:
            errors = f" (stderr) {_escaped(err)}" if err else ""
            return [f"{head} | (stdout) {_escaped(out)}{errors}"]
        return [f"{head} >>", *f"{out}{err}{values.get('msg', '')}\n".split("\n")[:-1]]

    def _json(self, values: Mapping[str, Any]) -> str:
        shown = {
            name: value
            for name, value in values.items()
            if name not in _LEFT_OUT and not name.startswith("_")
        }
        if self._one_line:
            return json.dumps(shown, sort_keys=True, ensure_ascii=False, default=str)
        return json.dumps(shown, indent=4, sort_keys=True, ensure_ascii=False, default=str)


def _escaped(text: str) -> str:
    return text.replace("\n", "\\n").replace("\r", "\\r")
