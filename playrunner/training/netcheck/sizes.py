"""What is measured: the sizes of sums as flags of all_reduce_perf, and the defaults around them."""

from __future__ import annotations

from playrunner.frozen import frozen

# Over gloo a few sizes tell a good network from a bad one; more would only take time.
GLOO_END, NCCL_END = "16M", "16G"
GLOO_REPEATS, NCCL_REPEATS = 5, 100


GATE_SIZES = "4096,65536,1048576,16777216"  # bytes, of a network check by itself
DEFAULT_PROFILE = "gpt2-micro-smoke"  # only its processes per node and its device count here
NCCL_TESTS = "/opt/nccl-tests/build/all_reduce_perf"  # where the image has it


@frozen
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
