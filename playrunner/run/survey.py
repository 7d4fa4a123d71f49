"""Survey: observe the resources of plays without changing anything, to show or delete them.

Only the arguments that identify a resource have to be known: one that cannot be rendered, because
the resource it refers to is already deleted, does not prevent finding this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from playrunner.cloud.resource import DELETING, CloudModule
from playrunner.errors import NotYet, StepFailed, UndefinedVariable
from playrunner.frozen import frozen, mutable
from playrunner.hostside.module import Probe
from playrunner.hostside.state import State
from playrunner.model import Step
from playrunner.playbook import arguments, module_index
from playrunner.run.context import Context
from playrunner.run.inflight import InFlightStep
from playrunner.run.whole_arguments import with_whole_arguments
from playrunner.variables.host_memory import OMIT
from playrunner.variables.scope import Scope

NOT_SURVEYED = {"changed": False, "skipped": True, "skip_reason": "not part of this survey"}
_NEEDED = (
    "play.set_fact",
    "play.include_tasks",
    "play.include_role",
    "play.include_vars",
    "play.meta",
)


@frozen
class FoundResource:
    """The resource of a step, as the service reports it."""

    module: CloudModule
    ctx: Context
    inflight: InFlightStep
    found: State | None
    kept: bool = False  # deleted only on request (--with-kept)

    @property
    def title(self) -> str:
        return self.ctx.subject

    @property
    def step(self) -> Step:
        return self.inflight.step

    @property
    def ours(self) -> bool:
        return self.found is not None and self.module.ours(self.ctx, self.found)

    @property
    def doing(self) -> str:
        """What the service does with it, or what is wrong with it; empty when it is stable."""
        return (
            (self.module.moving(self.found) or self.module.broken(self.found) or "")
            if self.found is not None
            else ""
        )


@mutable
class Survey:
    """The resources that were found, in the order of the steps, and which step read what."""

    resources: list[FoundResource] = field(default_factory=list)
    inflight_steps: list[InFlightStep] = field(default_factory=list)
    removing: bool = False  # resources with our tag are about to be deleted
    only_shows: bool = False  # none will be changed: what may not be seen is left out

    def skips(self, step: Step) -> bool:
        """Whether a step has no resource, and no later step needs it to find one."""
        cls = module_index.module_class(step.module)
        return (
            not (issubclass(cls, (CloudModule, Probe)) and cls.in_background)
            and step.module not in _NEEDED
        )

    def arguments_of(self, step: Step, scope: Scope) -> dict[str, Any]:
        """The arguments of a step that can be rendered; those of its identity must be."""
        if step.whole:
            step = with_whole_arguments(step, scope)
        cls, templar = module_index.module_class(step.module), scope.run_vars.templar
        needed = getattr(cls, "identity", tuple(step.arguments))
        fields = arguments.fields(cls)
        values: dict[str, Any] = dict.fromkeys(fields)
        values.update({name: field.default for name, field in fields.items() if not field.required})
        for name, value in step.arguments.items():
            try:
                rendered = templar.render(value, scope, keys=False)
            except (NotYet, UndefinedVariable, StepFailed):
                if name in needed:
                    raise
                if name == "after":
                    values[name] = {"absent": True}  # the resource it depends on does not exist
                continue
            if rendered is not OMIT:
                known = arguments.converted(
                    cls, {name: rendered}, step.module, step.place, final=True
                )
                values.update(known)
        return values

    def look(
        self, module: CloudModule, ctx: Context, inflight: InFlightStep, kept: bool
    ) -> Mapping[str, Any]:
        ctx.only_shows = self.only_shows
        state = module.observe(ctx)
        kept = kept or (state is not None and module.kept(state))
        resource = FoundResource(module, ctx, inflight, state, kept)
        self.resources.append(resource)
        if state is None:
            return {"changed": False, "absent": True}
        deleting = (
            {DELETING: True}
            if self.removing and module.takes_along and resource.ours and not kept
            else {}
        )
        return {**state, **deleting, "changed": False}

    def users_of(
        self, inflight: InFlightStep, among: Iterable[FoundResource]
    ) -> list[FoundResource]:
        """The resources that read, directly or through others, what this step registered."""
        names = {inflight.step.register} if inflight.step.register else set()
        users: list[InFlightStep] = []
        for later in self.inflight_steps:  # in play order: readers come after what they read
            if later is not inflight and later.reads & names:
                users.append(later)
                names |= {later.step.register} if later.step.register else set()
        return [resource for resource in among if any(resource.inflight is user for user in users)]
