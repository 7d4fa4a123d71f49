"""Controller: steps that are done here, not by an agent on a host: variables, includes, and things
in a cloud."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from playrunner.cloud.reconcile import settle
from playrunner.cloud.resource import CloudModule
from playrunner.hostside.module import Failed, Module, Probe
from playrunner.hostside.perform import perform
from playrunner.playbook import module_index
from playrunner.run.context import Context
from playrunner.run.host_request import Requests
from playrunner.run.inflight import Flight, Turn
from playrunner.run.run_state import Shared
from playrunner.ssh.dispatcher import Courier
from playrunner.text.written import authored
from playrunner.variables.scope import Waiter

Sleep = Callable[[float], None]


class Controller:
    """One strand's way of doing steps itself."""

    def __init__(
        self,
        shared: Shared,
        requests: Requests,
        courier: Courier,
        host: str,
        waiter: Waiter,
        sleep: Sleep,
        background_sleep: Sleep,
    ) -> None:
        self.shared, self.requests, self.courier, self.host, self.waiter = (
            shared,
            requests,
            courier,
            host,
            waiter,
        )
        self.sleep, self.background_sleep = sleep, background_sleep

    def do(self, flight: Flight, turn: Turn) -> dict[str, Any]:
        """A module that runs on the controller."""
        step, scope = flight.step, turn.scope
        cls = module_index.module_class(step.module)
        survey = self.shared.survey
        given = (survey if survey and cls.in_background else self.requests).arguments_of(
            step, scope
        )
        if step.module in ("play.include_tasks", "play.include_role"):
            return {"changed": False, "include": given}
        module = cls(**given)
        ctx = self._context(flight, turn, module)
        try:
            values = (
                self._brought(flight, turn, module, ctx)
                if cls.in_background
                else perform(module, ctx)
            )
        except Failed as failure:
            return {"changed": False, "failed": True, "msg": str(failure), **failure.values}
        if cls.of_the_controller:
            values = {name: authored(value) for name, value in values.items()}
        if ctx.warnings:
            values["warnings"] = ctx.warnings
        if step.module == "play.set_fact" and not flight.facts_for:
            self.waiter.tentative.update(values.get("ansible_facts", {}))
            if any(name.startswith("ansible_") for name in values.get("ansible_facts", {})):
                self.requests.forget_targets()
        return values

    def _brought(self, flight: Flight, turn: Turn, module: Module, ctx: Context) -> dict[str, Any]:
        """A step in the background, once everything it reads is known."""
        step, report = flight.step, self.shared.report
        self.shared.ledger.intend(self.host, ctx.subject, step.module, str(step.place))
        started = time.monotonic()
        report.progress(self.host, ctx.subject)
        try:
            if not isinstance(module, CloudModule):
                return perform(module, ctx)
            if self.shared.survey:
                kept = self.requests.flag(step.keep, turn.scope)
                return {**self.shared.survey.look(module, ctx, flight, kept)}
            values = settle(module, ctx)
            return {**values, "foreseen": True} if ctx.check and values["changed"] else values
        finally:
            turn.seconds = time.monotonic() - started
            report.settled(self.host, ctx.subject)

    def _context(self, flight: Flight, turn: Turn, module: Module) -> Context:
        shared, step, scope = self.shared, flight.step, turn.scope
        title = f"{flight.title} ({turn.label})" if turn.label else flight.title

        def on_host(module: str, given: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
            parcel = self.courier.send(
                self.requests.seat_of(step, scope), module, {"args": given, "halt": False}
            )
            return self.courier.wait(parcel), parcel.body

        # A survey looks once: what is waited for when things are made may never come when they go.
        check = self.requests.checks(step, scope) or (
            shared.survey is not None and isinstance(module, Probe)
        )
        return Context(
            self.host,
            scope,
            shared.world.inventory,
            check,
            shared.options.diff,
            connection=lambda: shared.pool.get(self.requests.seat_of(step, scope).target),
            reset_connection=lambda: self.courier.reset(self.requests.seat_of(step, scope)),
            on_host=on_host,
            sleep=self.background_sleep if module.in_background else self.sleep,
            show=lambda text: None if flight.hidden else shared.report.output(self.host, text),
            ask=shared.report.ask,
            clouds=shared.clouds,
            subject=title,
            progress=lambda text: shared.report.progress(
                self.host, title, "" if flight.hidden else text
            ),
        )
