"""Values of training's flags, for the shell's completion."""

from __future__ import annotations

from collections.abc import Callable


def _profiles() -> list[str]:
    from trainer.profile import BUNDLED, PROJECT

    return sorted({path.stem for folder in (BUNDLED, PROJECT) for path in folder.glob("*.yaml")})


def _runs() -> list[str]:
    from playrunner.training.runs.record import recorded

    return [record.name for record in recorded()]


def _queued() -> list[str]:
    from playrunner.training.ssh.queue.entries import Queue

    return [entry.name for entry in Queue().entries()]


def _launchers() -> list[str]:
    from playrunner.training.launchers import CLUSTER_LAUNCHERS, SSH_LAUNCHERS

    return [*SSH_LAUNCHERS, *CLUSTER_LAUNCHERS]


def _settings() -> list[str]:
    from trainer.setting_names import settings

    return [f"{name}=" for name, _ in settings()]


# By flag, or by verb and flag where that is another thing
VALUES: dict[str, Callable[[], list[str]]] = {
    "--profile": _profiles,
    "--name": _runs,
    "--launcher": _launchers,
    "--set": _settings,
    "train.queue --cancel": _queued,
}
