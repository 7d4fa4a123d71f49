"""Two runs step by step: what came out differently, what took longer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from playrunner.frozen import frozen
from playrunner.page.records.run_steps import BAD, StepResult

SLOWER_SECONDS, SLOWER_SHARE = 0.5, 1.5


@frozen
class Difference:
    host: str
    step: str
    left: StepResult | None
    right: StepResult | None

    @property
    def weight(self) -> tuple[bool, bool, float]:
        """What sorts first: what fails now, other outcomes, then seconds."""
        now = self.right.status if self.right else ""
        before = self.left.status if self.left else ""
        return (now not in BAD, now == before, -abs(self.seconds))

    @property
    def seconds(self) -> float:
        return (self.right.seconds if self.right else 0.0) - (
            self.left.seconds if self.left else 0.0
        )


@frozen
class Comparison:
    differences: list[Difference]
    same: int


def compared(left: Sequence[StepResult], right: Sequence[StepResult]) -> Comparison:
    """Steps are the same when host, name and place are; a step that comes again is paired in
    order."""
    earlier: dict[tuple[str, str, str], list[StepResult]] = defaultdict(list)
    for result in left:
        earlier[result.host, result.step, result.place].append(result)
    pairs: list[Difference] = []
    for result in right:
        before = earlier[result.host, result.step, result.place]
        pairs.append(
            Difference(result.host, result.step, before.pop(0) if before else None, result)
        )
    pairs += [
        Difference(result.host, result.step, result, None)
        for rest in earlier.values()
        for result in rest
    ]
    differences = [pair for pair in pairs if _differs(pair)]
    return Comparison(
        sorted(differences, key=lambda pair: pair.weight), len(pairs) - len(differences)
    )


def _differs(pair: Difference) -> bool:
    if pair.left is None or pair.right is None or pair.left.status != pair.right.status:
        return True
    shorter = min(pair.left.seconds, pair.right.seconds)
    longer = max(pair.left.seconds, pair.right.seconds)
    return longer - shorter >= SLOWER_SECONDS and longer >= SLOWER_SHARE * shorter
