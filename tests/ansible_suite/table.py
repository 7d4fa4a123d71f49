"""The scoreboard's part of docs/ansible-differences.md, made of the results."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from . import sources
from .reasons import REASONS
from .score import REPOSITORY

PAGE = REPOSITORY / "docs" / "ansible-differences.md"
START, END = "<!-- scoreboard -->", "<!-- end of scoreboard -->"


def summary(results: dict[str, dict[str, Any]]) -> list[str]:
    """One line for roles, one for scripts."""
    counted = _counted(results)
    roles = Counter(entry["playrunner"]["status"] for entry in counted if entry["kind"] == "role")
    calls = Counter(status for entry in counted for status, _, _ in _calls(entry))
    lines = [_line("role targets", roles)]
    if calls:
        lines.append(_line("playbook calls of runme.sh scripts", calls))
    alone = Counter(entry["playrunner"]["status"] for entry in _not_compared(results))
    if alone:
        lines.append(_line("role targets that ansible-core did not run here yet", alone))
    return lines


def write(results: dict[str, dict[str, Any]]) -> None:
    text = PAGE.read_text()
    before, _, rest = text.partition(START)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{START}\n{_table(results)}\n{END}{after}")


def _table(results: dict[str, dict[str, Any]]) -> str:
    counted = _counted(results)
    lines = [*(f"- {line}" for line in summary(results)), "", "| target | result | reason |"]
    lines.append("|---|---|---|")
    shown = [*counted, *_not_compared(results)]
    for name, entry in sorted(results.items()):
        if entry not in shown:
            continue
        if entry["kind"] == "role":
            if entry["playrunner"]["status"] != "pass":
                own = entry["playrunner"]
                behind = f" ({REASONS[name]})" if name in REASONS else ""
                reason = f"{_cell(own['reason'])}{behind}"
                lines.append(f"| {name} | {own['status']} | {reason} |")
            continue
        calls = _calls(entry)
        for status, number, reason in calls:
            if status != "pass":
                where = f"{name}, call {number} of {len(calls)}"
                lines.append(f"| {where} | {status} | {_cell(reason)} |")
    return "\n".join(lines)


def _counted(results: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Targets that pass with ansible-core on this machine."""
    return [
        entry
        for entry in results.values()
        if entry.get("ansible", {}).get("status") == "pass" and "playrunner" in entry
    ]


def _not_compared(results: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Role targets of which only our result is known: ansible-core took too long, or never ran."""
    return [
        entry
        for entry in results.values()
        if entry["kind"] == "role" and "ansible" not in entry and "playrunner" in entry
    ]


def _calls(entry: dict[str, Any]) -> list[tuple[str, int, str]]:
    """Status, number and reason of each call that ansible-core got."""
    if entry["kind"] != "script":
        return []
    own = entry["playrunner"]["calls"]
    found = []
    for number in range(len(entry["ansible"]["calls"])):
        if number < len(own):
            call = own[number]
            found.append((call.get("status", "fails"), number + 1, call.get("reason", "")))
        else:
            found.append(("fails", number + 1, "not reached"))
    return found


def _line(what: str, counts: Counter[str]) -> str:
    total = sum(counts.values())
    share = f" ({100 * counts['pass'] / total:.0f} %)" if total else ""
    others = ", ".join(f"{counts[name]} {name}" for name in ("refused", "fails", "differs"))
    return f"{what}: {counts['pass']} of {total} pass{share}; {others}"


def _cell(text: str) -> str:
    text = text.replace(f"{sources.integration()}/", "").replace(f"{REPOSITORY}/", "")
    text = text.replace(f"{sources.cache()}/", "").replace(f"{Path.home()}/", "~/")
    text = re.sub(r"/var/tmp/suite-\w+/", "", text)  # the throwaway machine's own
    shown = text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
    return shown[:160]
