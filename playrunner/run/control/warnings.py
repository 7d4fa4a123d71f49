"""Warnings before a run: steps that cannot work, but may never be reached or are meant to fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from playrunner.model import Play, steps_of


def warn_of_refusals(plays: Sequence[Play], warn: Callable[[str], None]) -> None:
    for play in plays:
        for nodes in (*play.sections, play.handlers):
            for step in steps_of(nodes):
                if step.refusal:
                    warn(f"warning: {step.refusal}; the step fails if it is reached")
