"""Survey: look at everything that plays are about, and touch nothing. What is to be deleted, or
shown, is learnt this way.

Only what is needed to find a thing has to be known: an argument that cannot be rendered, because
what it speaks of is gone already, does not keep the thing from being found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from playrunner.cloud.resource import GOING, CloudModule
from playrunner.errors import NotYet, StepFailed, UndefinedVariable
from playrunner.hostside.module import Probe
from playrunner.hostside.state import State
from playrunner.model import Step
from playrunner.playbook import arguments, module_index
from playrunner.run.context import Context
from playrunner.run.inflight import Flight
from playrunner.variables.host_memory import OMIT
from playrunner.variables.scope import Scope

PASSED_OVER = {"changed": False, "skipped": True, "skip_reason": "only looked at"}
_NEEDED = (
    "play.set_fact",
    "play.include_tasks",
    "play.include_role",
    "play.include_vars",
    "play.meta",
)


@dataclass(frozen=True)
class Piece:
    """One thing that a step is about, as it was found."""

    module: CloudModule
    ctx: Context
    flight: Flight
    found: State | None
    kept: bool = False  # stays unless asked for by name

    @property
    def title(self) -> str:
        return self.ctx.subject

    @property
    def step(self) -> Step:
        return self.flight.step

    @property
    def ours(self) -> bool:
        return self.found is not None and self.module.ours(self.ctx, self.found)

    @property
    def doing(self) -> str:
        """What the service does with it, or what is wrong with it; empty when it stands still."""
        return (
            (self.module.moving(self.found) or self.module.broken(self.found) or "")
            if self.found is not None
            else ""
        )


@dataclass
class Survey:
    """What was found, in the order it was looked at, and who read what of whom."""

    pieces: list[Piece] = field(default_factory=list)
    flights: list[Flight] = field(default_factory=list)
    removing: bool = False  # what is found and ours is about to go

    def passes_over(self, step: Step) -> bool:
        """Whether a step has nothing to say about what is there in a cloud."""
        cls = module_index.module_class(step.module)
        return (
            not (issubclass(cls, (CloudModule, Probe)) and cls.in_background)
            and step.module not in _NEEDED
        )

    def arguments_of(self, step: Step, scope: Scope) -> dict[str, Any]:
        """What can be known of a step's arguments; its identity must be."""
        cls, templar = module_index.module_class(step.module), scope.world.templar
        needed = getattr(cls, "identity", tuple(step.arguments))
        given: dict[str, Any] = dict.fromkeys(arguments.fields(cls))
        given.update(
            {name: one.default for name, one in arguments.fields(cls).items() if not one.required}
        )
        for name, value in step.arguments.items():
            try:
                rendered = templar.render(value, scope, keys=False)
            except (NotYet, UndefinedVariable, StepFailed):
                if name in needed:
                    raise
                if name == "after":
                    given[name] = {"absent": True}  # what it comes after is not there
                continue
            if rendered is not OMIT:
                known = arguments.converted(
                    cls, {name: rendered}, step.module, step.place, final=True
                )
                given.update(known)
        return given

    def look(
        self, module: CloudModule, ctx: Context, flight: Flight, kept: bool
    ) -> Mapping[str, Any]:
        found = module.observe(ctx)
        piece = Piece(module, ctx, flight, found, kept)
        self.pieces.append(piece)
        if found is None:
            return {"changed": False, "absent": True}
        going = (
            {GOING: True}
            if self.removing and module.takes_along and piece.ours and not kept
            else {}
        )
        return {**found, **going, "changed": False}

    def users_of(self, flight: Flight, among: Iterable[Piece]) -> list[Piece]:
        """The pieces that read, directly or through others, what this step gave."""
        names = {flight.step.register} if flight.step.register else set()
        users: list[Flight] = []
        for later in self.flights:  # in playing order: what reads stands behind what is read
            if later is not flight and later.reads & names:
                users.append(later)
                names |= {later.step.register} if later.step.register else set()
        return [piece for piece in among if any(piece.flight is user for user in users)]
