"""ControllerSteps: steps that run on the controller: variables, includes, and cloud resources."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from playrunner.cloud.reconcile import reconcile
from playrunner.cloud.resource import CloudModule
from playrunner.hostside.module import Failed, Module, Probe
from playrunner.hostside.perform import perform
from playrunner.playbook import external_modules, module_index
from playrunner.run.context import Context
from playrunner.run.host_request import HostRequests
from playrunner.run.inflight import InFlightStep, LoopItem
from playrunner.run.run_state import RunState
from playrunner.ssh.become_prompt import start_command
from playrunner.ssh.dispatcher import AgentDispatcher
from playrunner.text.written import authored
from playrunner.variables.waiter import Waiter

Sleep = Callable[[float], None]


class ControllerSteps:
    """Runs the steps of one host that need no agent."""

    def __init__(
        self,
        shared: RunState,
        requests: HostRequests,
        dispatcher: AgentDispatcher,
        host: str,
        waiter: Waiter,
        sleep: Sleep,
        background_sleep: Sleep,
    ) -> None:
        self.shared, self.requests, self.dispatcher, self.host, self.waiter = (
            shared,
            requests,
            dispatcher,
            host,
            waiter,
        )
        self.sleep, self.background_sleep = sleep, background_sleep

    def do(self, inflight: InFlightStep, item: LoopItem) -> dict[str, Any]:
        """Run a module on the controller; returns its values."""
        step, scope = inflight.step, item.scope
        if external_modules.has_action(step.module):
            from playrunner.run.external.action_step import run_action_step

            return run_action_step(inflight, item, self.shared, self.requests, self.dispatcher)
        cls = module_index.module_class(step.module)
        survey = self.shared.survey
        given = (survey if survey and cls.in_background else self.requests).arguments_of(
            step, scope
        )
        if step.module in ("play.include_tasks", "play.include_role"):
            return {"changed": False, "include": given}
        module = cls(**given)
        ctx = self._context(inflight, item, module)
        try:
            values = (
                self._run_in_background(inflight, item, module, ctx)
                if cls.in_background
                else perform(module, ctx)
            )
        except Failed as failure:
            values = {"changed": False, "failed": True, "msg": str(failure), **failure.values}
            return item.with_warnings(values, ctx.told_warnings())
        if cls.of_the_controller:
            values = {name: authored(value) for name, value in values.items()}
        values = item.with_warnings(values, ctx.told_warnings())
        if step.module == "play.set_fact" and not inflight.facts_for:
            self.waiter.tentative.update(values.get("ansible_facts", {}))
            if any(name.startswith("ansible_") for name in values.get("ansible_facts", {})):
                self.requests.forget_targets()
        return values

    def _run_in_background(
        self, inflight: InFlightStep, item: LoopItem, module: Module, ctx: Context
    ) -> dict[str, Any]:
        """Run a background step, once the variables it reads are known."""
        step, report = inflight.step, self.shared.report
        self.shared.ledger.intend(self.host, ctx.subject, step.module, str(step.place))
        started = time.monotonic()
        report.progress(self.host, ctx.subject)
        try:
            if getattr(module, "leased", False) and not (ctx.check or self.shared.survey):
                ctx.clouds.wait_for_turn(ctx.scope, ctx.owner.cluster, ctx.sleep)
            if not isinstance(module, CloudModule):
                return perform(module, ctx)
            kept = self.requests.flag(step.keep, item.scope)
            if self.shared.survey:
                return {**self.shared.survey.look(module, ctx, inflight, kept)}
            ctx.keep = kept
            values = reconcile(module, ctx)
            return {**values, "foreseen": True} if ctx.check and values["changed"] else values
        finally:
            item.seconds = time.monotonic() - started
            report.progress_ends(self.host, ctx.subject)

    def _context(self, inflight: InFlightStep, item: LoopItem, module: Module) -> Context:
        shared, step, scope = self.shared, inflight.step, item.scope
        title = f"{inflight.title} ({item.label})" if item.label else inflight.title

        def on_host(module: str, given: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
            agent_request = self.dispatcher.send(
                self.requests.agent_key(step, scope), module, {"args": given, "halt": False}
            )
            return self.dispatcher.wait(agent_request), agent_request.body

        # A survey does not wait: what is waited for on creation may never happen on deletion.
        check = self.requests.checks(step, scope) or (
            shared.survey is not None and isinstance(module, Probe)
        )
        return Context(
            self.host,
            scope,
            shared.run_vars.inventory,
            check,
            shared.options.diff,
            connection=lambda: shared.pool.get(self.requests.agent_key(step, scope).target),
            reset_connection=lambda: self.dispatcher.reset(self.requests.agent_key(step, scope)),
            start=lambda line: start_command(
                self.requests.agent_key(step, scope), shared.pool, line
            ),
            on_host=on_host,
            sleep=self.background_sleep if module.in_background else self.sleep,
            show=lambda text: None if inflight.hidden else shared.report.output(self.host, text),
            ask=shared.report.ask,
            pause=shared.report.pause,
            clouds=shared.clouds,
            subject=title,
            progress=lambda text: shared.report.progress(
                self.host, title, "" if inflight.hidden else text
            ),
        )
