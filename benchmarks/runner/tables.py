"""The benchmark's answers as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.runner.goals import GoalResult
from benchmarks.runner.rounds import MODES, Score
from benchmarks.runner.scaling import Growth


def score_table(scores: list[Score]) -> str:
    """One row per tool and number of hosts; ratios are of the same mode, `x ours` above 1 means
    slower than us."""
    head = ["hosts", "tool"]
    for mode in MODES:
        head += [f"{mode} s", "CPU s", "x ours", "x floor"]
    rows = [_score_row(score, scores) for score in sorted(scores, key=lambda score: score.hosts)]
    return _table([*head, "peak MiB"], rows)


def goal_table(goal_results: Iterable[GoalResult]) -> str:
    rows = [
        [each.promise, each.measured, "pass" if each.kept else "**miss**"] for each in goal_results
    ]
    return _table(["goal", "measured", ""], rows)


def growth_table(growth: list[Growth]) -> str:
    head = ["hosts", "steps", "first s", "second s", "ms per added host or step, first", "second"]
    rows = []
    for each in growth:
        marginal = [_number(value, 1) for value in (each.first_ms_each, each.second_ms_each)]
        rows.append(
            [str(each.hosts), str(each.steps), _number(each.first), _number(each.second), *marginal]
        )
    return _table(head, rows)


def _score_row(score: Score, scores: list[Score]) -> list[str]:
    row = [str(score.hosts), score.title]
    if score.wrong:
        return [*row, score.wrong.replace("|", "/"), *[""] * (4 * len(MODES))]
    same = {each.tool: each for each in scores if each.hosts == score.hosts}
    for mode in MODES:
        row += [_number(score.wall(mode)), _number(score.cpu(mode))]
        row += [_ratio(score, same.get(other), mode) for other in ("ours", "floor")]
    return [*row, _number(score.peak(), 0)]


def _ratio(score: Score, other: Score | None, mode: str) -> str:
    mine, theirs = score.wall(mode), other.wall(mode) if other else None
    return f"{mine / theirs:.2f}" if mine is not None and theirs is not None else "-"


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
