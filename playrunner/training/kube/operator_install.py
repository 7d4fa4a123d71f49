"""The operator that a launcher needs, installed by its role where the user agrees."""

from __future__ import annotations

import sys

from playrunner.options import Options
from playrunner.playbook.playbook import roles_play
from playrunner.run.run import run_plays
from playrunner.training.kube.launchers.kind import Kind
from playrunner.training.kube.session import ClusterSession
from playrunner.training.request import LaunchRefused
from playrunner.training.screen.phases import step_options


def install_operator(session: ClusterSession, kind: Kind, options: Options) -> bool:
    """Whether it was installed here: it was missing, and the user agreed by --yes or an answer."""
    if not kind.needs or session.kube.resource(*kind.resource) or options.check:
        return False
    role = kind.controller[1]
    if not _agreed(kind, role, options):
        return False
    code = run_plays(
        [roles_play([*kind.also, role])],
        step_options(options),
        f"{role}.create",
        inventory=session.inventory,
    )
    if code:
        raise LaunchRefused(f"{role}.create failed; see what it says above; nothing was submitted")
    session.kube.refresh()
    return True


def _agreed(kind: Kind, role: str, options: Options) -> bool:
    if options.yes:
        return True
    if options.json or not sys.stdin.isatty():
        return False
    question = f"the cluster has no {kind.resource[1]}; install the operator ({role})? [y/N] "
    return input(question).strip().lower() in ("y", "yes")
