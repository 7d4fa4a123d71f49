"""What a gate's result says, judged and as a table: pods judge the same way for themselves (trainer/gate_verdict.py)."""

from __future__ import annotations

from roles.training.network.verdict_table import table
from trainer.gate_verdict import Expected, Verdict, judge

__all__ = ["Expected", "Verdict", "judge", "table"]
