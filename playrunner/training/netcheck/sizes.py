"""Which sums are measured, as all_reduce_perf is told it."""

from __future__ import annotations

from dataclasses import dataclass

# Over gloo some sizes are enough to tell a good network from a bad one, and nobody should wait for
# more.
GLOO_END, NCCL_END = "16M", "16G"
GLOO_REPEATS, NCCL_REPEATS = 5, 100


@dataclass(frozen=True)
class Sizes:
    begin: str = "8"
    end: str = ""  # nothing: what suits the devices
    repeats: int = 0

    def flags(self, over_nccl: bool) -> list[str]:
        end, repeats = (NCCL_END, NCCL_REPEATS) if over_nccl else (GLOO_END, GLOO_REPEATS)
        return [
            "-b",
            self.begin,
            "-e",
            self.end or end,
            "-f",
            "2",
            "-n",
            str(self.repeats or repeats),
        ]
