"""Options: what a user can ask of any run; the fields are the shared flags of every verb."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Options:
    """How a run goes about its work."""

    inventory: tuple[str, ...] = ()
    check: bool = False
    diff: bool = False
    limit: str = ""
    tags: str = ""
    skip_tags: str = ""
    start_at_task: str = ""
    extra_vars: tuple[str, ...] = ()
    kubeconfig: str = ""
    forks: int = 32
    json: bool = False
    yes: bool = False
    rollback: bool = False
    verbose: int = 0
    force_handlers: bool = False
    exit_code: bool = False  # --check tells by its exit code whether anything would change
    quiet: bool = False  # the verb speaks for itself: only what goes wrong is said
    no_wait: bool = False  # refuse instead of waiting for another run on the same inventory
    become_password: str = field(default="", repr=False)
