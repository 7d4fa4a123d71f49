"""Any text as a training profile and as an override."""

from __future__ import annotations

from pathlib import Path

from tests.support.fuzz.surface import as_bytes, fuzzed, scratch
from trainer.errors import BadInput
from trainer.profile import BUNDLED, read_profile

SEEDS = [path.read_text() for path in sorted(Path(BUNDLED).glob("*.yaml"))]
OVERRIDES = [
    "train.steps=100",
    "train.strategy.name=deepspeed",
    "launch.nodes=2",
    "train.data.shuffle_rows={a: [1]}",
    "train.optimizer.lr=1e-4",
    "train.checkpoint=null",
]


@fuzzed("profiles", SEEDS, (BadInput,))
def test_any_profile_is_read_or_refused(text: str) -> None:
    file = scratch("profile.yaml")
    file.write_bytes(as_bytes(text))
    read_profile(str(file))


@fuzzed("overrides", OVERRIDES, (BadInput,), structured=False)
def test_any_override_is_applied_or_refused(text: str) -> None:
    read_profile("gpt2-micro", [text])
