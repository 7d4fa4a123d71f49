"""play.assert: conditions that must hold, or the host stops here."""

from __future__ import annotations

from typing import Any

from playrunner.errors import NotYet, PlayrunnerError
from playrunner.hostside.module import Failed, Probe
from playrunner.run.context import Context
from playrunner.text.written import is_template


class Assert(Probe):
    """Conditions that must hold, or the host stops here."""

    in_memory = True
    raw = ("that",)
    aliases = {"msg": "fail_msg"}

    that: Any  # an expression, or a list of them
    fail_msg: Any = None  # the message when one does not hold
    success_msg: Any = None  # the message when all hold
    quiet: bool = False  # no message when all hold

    def look(self, ctx: Context) -> dict[str, Any]:
        for condition in self.that if isinstance(self.that, list) else [self.that]:
            try:
                holds = ctx.truth(_listed(ctx, condition))
            except NotYet:
                raise  # --check: whether it holds is unknown
            except PlayrunnerError as error:
                raise Failed(f"{condition}: {error}", assertion=condition) from None
            if not holds:
                raise Failed(
                    _text(self.fail_msg) or "Assertion failed",
                    assertion=condition,
                    evaluated_to=False,
                )
        return {"msg": self.success_msg or "All assertions passed"}


def _listed(ctx: Context, condition: Any) -> Any:
    """The conditions that a variable lists, for `that: "{{ conditions }}"`; else the condition."""
    value = ctx.evaluate(condition) if is_template(condition) else condition
    return value if isinstance(value, list) else condition


def _text(message: Any) -> str:
    return "\n".join(map(str, message)) if isinstance(message, list) else str(message or "")
