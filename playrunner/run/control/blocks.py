"""Blocks: their body, and what of `rescue` and `always` runs after a failure; roles as blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playrunner.model import Block, Node, RoleBlock
from playrunner.run.batch import MarkedFailed
from playrunner.run.control.failed_task import failed_task
from playrunner.run.pending import StepStopped

if TYPE_CHECKING:
    from playrunner.run.host_run import HostRun


def run_block(run: HostRun, block: Block | RoleBlock) -> None:
    """Run a block; `end_host`, `end_play` and a lost host end it without its `always`."""
    if isinstance(block, RoleBlock):
        _run_role(run, block)
        return
    if not block.rescue and not block.always:
        run_included(run, block.body)
        return
    run.wait_for_steps()
    try:
        _body_and_rescue(run, block)
    except (StepStopped, MarkedFailed) as failure:
        cleared = run.batch.times_cleared
        if not _skips_always(failure, block):
            _always(run, block)
        if run.batch.times_cleared > cleared:
            return  # by `meta: clear_host_errors` in its `always`
        if isinstance(failure, MarkedFailed):
            raise MarkedFailed from None
        raise
    _always(run, block)


def run_included(run: HostRun, nodes: tuple[Node, ...]) -> None:
    """Run steps that form a block of their own, without `rescue` and `always`."""
    try:
        run.nodes(nodes)
    except MarkedFailed:
        raise MarkedFailed from None  # however often it was marked, the block fails once


def _run_role(run: HostRun, role: RoleBlock) -> None:
    """Run a role's steps, unless it is to run once and has done so."""
    roles = run.pending.roles
    if role.once and roles.has_ended(role.mention):
        if any(step.keywords.ignore_unreachable for step in run.pending.steps()):
            run.wait_for_steps()  # whether they reached the host
        if roles.has_run(role.mention):
            run.pending.files.pass_unseen(role.body)
            return
    run.nodes(role.body)
    roles.end(role.mention)


def _body_and_rescue(run: HostRun, block: Block) -> None:
    try:
        with run.pending.inside(rescued=bool(block.rescue)):
            run.nodes(block.body)
            run.wait_for_steps()
        run.pending.files.pass_unseen(block.rescue)
        return
    except StepStopped as failure:
        if not block.rescue:
            raise
        facts = {
            "ansible_failed_task": failed_task(failure.inflight),
            "ansible_failed_result": dict(failure.values),
        }
        run.memory.store("registered", facts, failure.inflight.step.position)
    except MarkedFailed as mark:
        if not block.rescue or mark.times > 1:
            raise
    if block.always:
        with run.pending.inside():
            _rescue(run, block)
    else:
        _rescue(run, block)


def _rescue(run: HostRun, block: Block) -> None:
    run.nodes(block.rescue)
    run.wait_for_steps()


def _always(run: HostRun, block: Block) -> None:
    run.nodes(block.always)
    run.wait_for_steps()


def _skips_always(failure: StepStopped | MarkedFailed, block: Block) -> bool:
    """Whether the host was marked as failed twice, which uses up `rescue` and `always` alike."""
    return isinstance(failure, MarkedFailed) and failure.times > 1 and not block.rescue
