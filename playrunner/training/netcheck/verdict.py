"""What a gate's result says, judged and as a table: pods judge the same way for themselves
(trainer/netcheck/verdict.py)."""

from __future__ import annotations

from playrunner.training.netcheck.verdict_table import table
from trainer.netcheck.verdict import Expected, Verdict, judge

__all__ = ["Expected", "Verdict", "judge", "table"]
