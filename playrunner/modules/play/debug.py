"""play.debug: a message, or a variable's value, in the output."""

from __future__ import annotations

from typing import Any

from playrunner.errors import UndefinedVariable
from playrunner.hostside.module import Failed, Probe
from playrunner.run.context import Context


class Debug(Probe):
    """A message, or a variable's value, in the output."""

    in_memory = True
    raw = ("var",)

    msg: Any = "Hello world!"  # the text or value to show
    var: Any = None  # an expression whose value is shown
    verbosity: int = 0  # shown only at this many -v or more

    def look(self, ctx: Context) -> dict[str, Any]:
        if self.var is not None and "msg" in self.__dict__:
            raise Failed('"msg" and "var" exclude each other')
        if self.var is not None and not isinstance(self.var, str):
            raise Failed(f"var: {self.var!r} is not a string and conversion is not allowed")
        if self.verbosity > int(ctx.evaluate("ansible_verbosity")):
            return {"skipped": True, "skipped_reason": "Verbosity threshold not met."}
        if self.var is None:
            return {"msg": self.msg}
        try:
            return {str(self.var): ctx.evaluate(self.var)}
        except UndefinedVariable as error:
            return {str(self.var): f"<< error 1 - {error} >>"}
