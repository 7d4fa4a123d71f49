"""host.debconf: the answer to a question that a Debian package asks when it is set up."""

from __future__ import annotations

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host._accounts import fingerprint
from playrunner.modules.host._packages import needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

_PLAIN = {"LC_ALL": "C"}
_TOOLS = "it belongs to Debian's packages debconf and debconf-utils"


class Debconf(Module):
    """The answer to a question that a Debian package asks when it is set up."""

    aliases = {
        "pkg": "name",
        "selection": "question",
        "setting": "question",
        "answer": "value",
    }
    name: str  # the package
    question: str | None = None  # the question; without it the answers are only read
    # The kind of the answer
    vtype: (
        Literal[
            "boolean",
            "error",
            "multiselect",
            "note",
            "password",
            "seen",
            "select",
            "string",
            "text",
            "title",
        ]
        | None
    ) = None
    value: Any = None  # the answer
    unseen: bool = False  # the question is still asked when the package is set up

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        asked = [arguments.get(name) is not None for name in ("question", "vtype", "value")]
        if any(asked) and not all(asked):
            return "parameters are required together: question, vtype, value"
        value = arguments.get("value")
        if arguments.get("vtype") == "multiselect" and isinstance(value, list):
            other = next((item for item in value if not isinstance(item, str)), None)
            if other is not None:
                return f"Invalid value provided for 'multiselect': {other!r} is no text; quote it"
        return None

    def observe(self, ctx: HostContext) -> State | None:
        answers = ctx.memory["answers"] = self._answers(ctx)
        if self.question is None or self.question not in answers:
            return None
        return {"value": self._comparable(self._known(ctx, answers[self.question]))}

    def desired(self, ctx: HostContext, found: State | None) -> State | None:
        return found if self.question is None else {"value": self._comparable(self._text())}

    def apply(self, ctx: HostContext, change: Change) -> None:
        after = (change.after or {}).get("value")
        if after is None:
            raise Failed(f"the answer to {self.question} that was not there cannot be taken back")
        # The secret itself is in no state; a step that goes back has only its mark.
        value = self._text() if after == self._comparable(self._text()) else str(after)
        command = [needed("debconf-set-selections", _TOOLS), *(["-u"] if self.unseen else [])]
        ran = ctx.run(
            command, stdin=f"{self.name} {self.question} {self.vtype} {value}\n", env=_PLAIN
        )
        if ran.rc:
            raise Failed((ran.err or ran.out).strip(), rc=ran.rc)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        answers: dict[str, str] = ctx.memory["answers"]
        if not change:
            return {"msg": "", "current": answers}
        shown = self._comparable(self._text()) if self.vtype == "password" else self._text()
        before = answers.get(str(self.question), "")
        return {
            "msg": "",
            "current": {self.question: shown},
            "previous": {self.question: before}
            if self.question in answers
            else {**answers, self.question: ""},
        }

    def _text(self) -> str:
        if isinstance(self.value, list):
            return ", ".join(str(item) for item in self.value)
        return str(self.value).lower() if self.vtype == "boolean" else str(self.value)

    def _comparable(self, text: str) -> str:
        if self.vtype == "password":
            return f"hidden ({fingerprint(text)})"
        if self.vtype == "multiselect" and isinstance(self.value, list):
            return ", ".join(sorted(part.strip() for part in text.split(",")))
        return text.lower() if self.vtype == "boolean" else text

    def _answers(self, ctx: HostContext) -> dict[str, str]:
        ran = ctx.run([needed("debconf-show", _TOOLS), self.name], env=_PLAIN)
        if ran.rc:
            raise Failed(ran.err.strip(), rc=ran.rc)
        pairs = [line.partition(":") for line in ran.out.splitlines()]
        return {key.strip("* "): value.strip() for key, colon, value in pairs if colon}

    def _known(self, ctx: HostContext, shown: str) -> str:
        """The answer as it is kept: debconf-show hides passwords."""
        if self.vtype != "password":
            return shown
        ran = ctx.run([needed("debconf-get-selections", _TOOLS)], env=_PLAIN)
        if ran.rc:
            raise Failed(
                f"Failed to get the value '{self.question}' from '{self.name}': {ran.err.strip()}"
            )
        for line in ran.out.splitlines():
            fields = line.split("\t")
            if fields[:3] == [self.name, self.question, self.vtype]:
                return fields[3] if len(fields) > 3 else ""
        return ""
