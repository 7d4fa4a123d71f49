"""Prints the results of a run, one line each in the order of the playbook, and the recap."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

from playrunner.errors import Place
from playrunner.model import Play
from playrunner.options import Options
from playrunner.output import questions
from playrunner.output.activity import Activity
from playrunner.output.held_back import HeldBack
from playrunner.output.json_output import result_data, shown_values
from playrunner.output.terminal import Painted, Terminal
from playrunner.output.warned import Warned
from playrunner.results import COUNTS, NOWHERE, Item, Recap, Result
from playrunner.text.diffs import diff_lines
from playrunner.text.streams import as_json, in_one_line

STILL_SECONDS = 30.0  # without a screen, a long step is reported this often
SHOWN_LINES = 12  # of a failed command's output; the rest is in the run's folder
MESSAGE_MODULES = ("play.debug",)


class Report:
    """What the user sees of a run."""

    pace = 0.05  # seconds between two ticks

    def __init__(self, options: Options, terminal: Terminal | None = None) -> None:
        self.options = options
        self.silent = options.json or options.quiet
        self.terminal = terminal or Terminal(sys.stderr if self.silent else sys.stdout)
        self.results: list[Result] = []
        self._held = HeldBack()
        self._warned: set[tuple[str, Place]] = set()
        self._activity = Activity()
        self._still_printed_at = time.monotonic()
        self._started = time.monotonic()

    # Called by a run.

    def play_starts(self, play: Play, hosts: list[str]) -> None:
        self._held.play_starts(hosts)
        if not self.silent:
            count = f"{len(hosts)} host{'' if len(hosts) == 1 else 's'}"
            self.terminal.line(Painted(f"PLAY {play.name}", "bold"), f" ({count})")
            if not hosts:
                self.terminal.line("  no host matches; nothing to do")

    def starts(self, host: str, step: str) -> None:
        self._activity.starts(host, step)

    def progress(self, host: str, step: str, doing: str = "") -> None:
        """What a step in the background waits for."""
        self._activity.progress(host, step, doing)

    def progress_ends(self, host: str, step: str) -> None:
        self._activity.progress_ends(host, step)

    def add_result(self, result: Result) -> None:
        self._activity.finished(result)
        self.results.append(result)
        self._held.add(result)

    def add_meta(self, result: Result) -> None:
        """A step of the run itself, which is no result."""

    def add_warning(self, warned: Warned) -> None:
        """A warning in the place of its step, before the results or with one of them."""
        self._held.add_warning(warned)

    def output(self, host: str, text: str) -> None:
        """Lines of a step that is still running."""
        if not self.silent:
            for line in text.splitlines():
                self.terminal.line(Painted(host, "dim"), f" | {line}")

    def defect(self, host: str, error: Exception) -> None:
        import traceback

        text = "".join(traceback.format_exception(error))
        self.terminal.line(
            Painted(f"{host}: an internal error of playrunner stopped this host", "failed")
        )
        self.terminal.line(text.rstrip())

    def tick(self) -> None:
        now = time.monotonic()
        self._print(self._held.due())
        if self.terminal.is_screen:
            self.terminal.live(self._status(now))
        elif now - self._still_printed_at > STILL_SECONDS and self._activity:
            self._still_printed_at = now
            self._print_still_running(now)

    def flush(self) -> None:
        """Print the results held back, in the playbook's order."""
        self._print(self._held.all())

    def _print(self, held: Iterable[Result | Warned]) -> None:
        for each in held:
            if isinstance(each, Result):
                self._print_result(each)
            elif (each.text, each.place) not in self._warned:
                self._print_warned(each)

    def finish(self, recap: Recap, run_id: str, folder: str, exit_code: int) -> None:
        self.flush()
        self.terminal.live("")
        if self.options.json:
            self._print_json(recap, run_id, exit_code)
        if self.silent:
            return
        self._print_recap(recap)
        if exit_code:
            self.terminal.line(f"run {run_id}: full output in {folder}")

    def waiting(self) -> list[str]:
        """The steps that wait for something in the background, with what for."""
        return [running.step for running in self._activity.in_background()]

    def print_note(self, text: str) -> None:
        """Print a note about the run to standard error, so that it is never part of --json."""
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
        if self.terminal.log:
            self.terminal.log.add(text, "WARNING")

    def warn_once(self, text: str) -> None:
        if (text, NOWHERE) not in self._warned:
            self._warned.add((text, NOWHERE))
            self.print_note(f"warning: {text}")

    def print_warning(self, text: str, word: str, place: Place) -> None:
        """A warning about a word of a file; as others give it too, it is printed once."""
        self._warned.add((text, place))
        self.print_note(f"warning: {place}: {text}" if place.file else f"warning: {text}")

    def print_restored(self, status: str, host: str, step: str) -> None:
        word = Painted(f"{status:<11}", "changed" if status == "restored" else status)
        self.terminal.line(word, f" {host}  {step}")

    def print_error(self, error: Exception) -> None:
        self.flush()
        self.terminal.live("")
        self.print_note(f"error: {error}")

    def ask(self, question: str, echo: bool = True) -> str:
        """The user's answer; an error where there is no terminal."""
        return questions.ask(self.terminal, question, echo)

    def pause(self, text: str, echo: bool, seconds: float | None) -> str | None:
        """What a person typed after this text; None where no one can."""
        self.flush()
        return questions.pause(self.terminal, "" if self.silent else text, echo, seconds)

    # Printing.

    def _print_warned(self, warned: Warned) -> None:
        self.print_warning(warned.text, warned.subject, warned.place)

    def _print_result(self, result: Result) -> None:
        if self.silent and result.status not in ("failed", "unreachable"):
            return
        if result.items:
            for item in result.items:
                self._print_line(result, item.status, item.values, item)
        else:
            self._print_line(result, result.status, result.values, None)

    def _print_line(
        self, result: Result, status: str, values: Mapping[str, Any], item: Item | None
    ) -> None:
        if status == "skipped" and not self.options.verbose and item:
            return
        label = f" (item={item.label[:80]})" if item else ""
        arrow = f" -> {result.delegated_to}" if result.delegated_to else ""
        note = " (rescued)" if result.rescued else ""
        if result.ignored and status in ("failed", "unreachable"):
            note = " (ignored)"
        seconds = f"  {result.seconds:.2f}s" if result.seconds >= 0.01 and not item else ""
        text = in_one_line(f" {result.host}{arrow}  {result.step}{label}{note}")
        self.terminal.line(Painted(f"{status:<11}", status), text, Painted(seconds, "dim"))
        self._print_details(result, status, values)

    def _print_details(self, result: Result, status: str, values: Mapping[str, Any]) -> None:
        for text in values.get("warnings", ()):
            self.terminal.line(f"    warning: {text}")
        if self.options.diff and values.get("diff"):
            for line in diff_lines(values["diff"]):
                self.terminal.line("    ", Painted(line, line[:1]))
        if status in ("failed", "unreachable"):
            self._print_failure(result, values)
        elif result.module in MESSAGE_MODULES and status == "ok":
            shown = {
                name: value
                for name, value in values.items()
                if name not in ("changed", "item", "ansible_loop_var", "ansible_loop")
            }
            for line in _readable(shown.get("msg", shown)).splitlines():
                self.terminal.line(f"    {line}")
        if self.options.verbose and status != "skipped":
            for line in as_json(shown_values(values), indent=2).splitlines():
                self.terminal.line(f"    {line}")

    def _print_failure(self, result: Result, values: Mapping[str, Any]) -> None:
        for line in str(
            values.get("msg") or values.get("censored") or "failed without a message"
        ).splitlines():
            self.terminal.line(f"    {line}")
        for stream in ("stderr", "stdout"):
            lines = str(values.get(stream) or "").splitlines()
            if lines:
                self.terminal.line(
                    f"    {stream}:"
                    + (f" (last {SHOWN_LINES} lines)" if len(lines) > SHOWN_LINES else "")
                )
                for line in lines[-SHOWN_LINES:]:
                    self.terminal.line(f"      {line}")
                break
        if str(result.place):
            self.terminal.line(Painted(f"    at {result.place}", "dim"))

    def _print_recap(self, recap: Recap) -> None:
        if not recap.hosts:
            return
        width = max(map(len, recap.hosts))
        self.terminal.line(Painted("RECAP", "bold"), f" ({time.monotonic() - self._started:.1f}s)")
        for host, counts in recap.hosts.items():
            shown = [
                Painted(f"  {name}={counts[name]}", name if counts[name] else "") for name in COUNTS
            ]
            self.terminal.line(f"  {host:<{width}}", *shown)
        slow = [(seconds, host, step) for seconds, host, step in recap.slowest if seconds >= 0.1]
        if slow:
            self.terminal.line(
                "slowest: "
                + ", ".join(f"{step} on {host} {seconds:.1f}s" for seconds, host, step in slow)
            )
        if recap.total("unknown"):
            self.terminal.line(
                f"{recap.total('unknown')} steps have an unknown result in check mode:"
                " commands without creates or removes"
            )

    def _print_json(self, recap: Recap, run_id: str, exit_code: int) -> None:
        order = sorted(self.results, key=self._held.order)
        document = {
            "run_id": run_id,
            "exit_code": exit_code,
            "recap": recap.hosts,
            "results": [result_data(result) for result in order],
        }
        sys.stdout.write(as_json(document) + "\n")
        sys.stdout.flush()

    def _status(self, now: float) -> str:
        running = self._activity.running()
        if not running:
            return ""
        since, host, step = running[0]
        more = f" and {len(running) - 1} more" if len(running) > 1 else ""
        return f"{now - self._started:5.1f}s  {host}: {step} ({now - since:.0f}s){more}"

    def _print_still_running(self, now: float) -> None:
        for since, host, step in self._activity.running():
            if now - since > STILL_SECONDS and not self.options.json:
                self.terminal.line(f"{host}: {step}: still running after {now - since:.0f}s")


def _readable(value: Any) -> str:
    return (
        value
        if isinstance(value, str)
        else json.dumps(value, indent=2, default=str, ensure_ascii=False)
    )
