"""Rounds: each tool from fresh hosts to a second run and a check, believed only when hosts and
counts are right."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from benchmarks.runner.measure import Measured, measure
from benchmarks.runner.stage import Stage, Tree
from benchmarks.runner.tools import REPOSITORY, Tool, tools

FAILURES = REPOSITORY / ".bench" / "failures"
MODES = ("first", "second", "check")


@dataclass
class Score:
    """What one tool took on one number of hosts; no numbers where the result was wrong."""

    tool: str
    title: str
    hosts: int
    rounds: dict[str, list[Measured]] = field(default_factory=lambda: {mode: [] for mode in MODES})
    wrong: str | None = None

    def wall(self, mode: str) -> float | None:
        return self._median([each.wall_seconds for each in self.rounds[mode]])

    def cpu(self, mode: str) -> float | None:
        return self._median([each.cpu_seconds for each in self.rounds[mode]])

    def peak(self) -> float | None:
        return self._median([each.peak_mib for mode in MODES for each in self.rounds[mode]])

    def _median(self, values: list[float]) -> float | None:
        return median(values) if values and not self.wrong else None

    def as_json(self) -> dict[str, object]:
        rounds = {
            mode: [
                {
                    "wall_seconds": each.wall_seconds,
                    "cpu_seconds": each.cpu_seconds,
                    "peak_mib": each.peak_mib,
                }
                for each in measured
            ]
            for mode, measured in self.rounds.items()
        }
        return {
            "tool": self.tool,
            "title": self.title,
            "hosts": self.hosts,
            "wrong": self.wrong,
            "rounds": rounds,
        }


class Mistake(Exception):
    """A tool did not do what was asked; its times mean nothing."""


def play_rounds(stage: Stage, chosen: Iterable[Tool], repeats: dict[str, int]) -> list[Score]:
    """Every tool on these hosts, one round of each after the other, so that a slow minute hurts all
    alike."""
    expected = _expected_trees(stage)
    scores = {tool.name: Score(tool.name, tool.title, stage.size) for tool in chosen}
    waiting = [(number, tool) for tool in chosen for number in range(repeats[tool.name])]
    for number, tool in sorted(waiting, key=lambda pair: pair[0]):
        score = scores[tool.name]
        if score.wrong:
            continue
        try:
            _play_round(stage, tool, score, expected)
        except Mistake as mistake:
            score.wrong = str(mistake)
        print(
            f"{stage.size} hosts, {tool.title}, round {number + 1}: {_brief(score)}",
            file=sys.stderr,
        )
    return list(scores.values())


def _play_round(stage: Stage, tool: Tool, score: Score, expected: dict[str, Tree]) -> None:
    stage.reset()
    measured = {"first": _run(stage, tool, check=False)}
    difference = _difference(expected, stage.trees())
    if difference:
        raise Mistake(f"wrong result: {difference}")
    measured["second"] = _run(stage, tool, check=False)
    measured["check"] = _run(stage, tool, check=True)
    for mode in ("second", "check"):
        changes = tool.changes(measured[mode].output)
        if changes:
            raise Mistake(
                f"{mode} run: "
                + ("no count of changes" if changes < 0 else f"{changes} changes, not 0")
            )
    for mode, each in measured.items():
        score.rounds[mode].append(each)


def _run(stage: Stage, tool: Tool, *, check: bool) -> Measured:
    try:
        measured = measure(tool.command(stage, check), tool.environment(stage), REPOSITORY)
    except FileNotFoundError as missing:
        raise Mistake(f"cannot be started: {missing.filename} is not there") from missing
    if measured.code:
        FAILURES.mkdir(parents=True, exist_ok=True)
        kept = FAILURES / f"{tool.name}-{stage.size}.log"
        kept.write_text(measured.output)
        raise Mistake(f"exit code {measured.code}; its output is in {kept.relative_to(REPOSITORY)}")
    return measured


def _expected_trees(stage: Stage) -> dict[str, Tree]:
    """What the hosts must look like: the floor's doing, which every other tool is compared with."""
    stage.reset()
    _run(stage, tools()["floor"], check=False)
    return stage.trees()


def _difference(expected: dict[str, Tree], found: dict[str, Tree]) -> str | None:
    for host, wanted in expected.items():
        for path in sorted(wanted.keys() | found[host].keys()):
            if wanted.get(path) != found[host].get(path):
                return (
                    f"{host}: {path} is {found[host].get(path, 'missing')}, not"
                    f" {wanted.get(path, 'missing')}"
                )
    return None


def _brief(score: Score) -> str:
    if score.wrong:
        return score.wrong
    return " / ".join(f"{score.rounds[mode][-1].wall_seconds:.2f} s" for mode in MODES)
