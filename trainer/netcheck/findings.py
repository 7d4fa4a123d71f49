"""The expected performance of links, and the findings in a network check's result."""

from __future__ import annotations

from trainer.frozen import frozen

# A node is the culprit when this share of its links is bad; below, the links are reported. Not all
# of them: one lucky figure must not turn a slow node into several slow links.
NODE_SHARE = 0.75


@frozen
class Expected:
    """The inventory's train_expected_gbps and train_expected_latency_us; a link may be
    `slow_factor` times worse."""

    gbps: float | None = None
    latency_us: float | None = None
    slow_factor: float = 3.0

    @property
    def text(self) -> str:
        """As TRAINER_GATE_EXPECTED has it: GBPS,LATENCY_US, either of which may be empty."""
        return ",".join(
            "" if each is None else f"{each:g}" for each in (self.gbps, self.latency_us)
        )


@frozen
class Findings:
    """What one check of the result found."""

    lines: tuple[str, ...] = ()
    culprits: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    ranked: tuple[str, ...] = ()  # suspects without a culprit among them

    @property
    def suspects(self) -> tuple[str, ...]:
        ends = (end for link in self.links for end in link)
        return (*self.culprits, *self.ranked, *ends)
