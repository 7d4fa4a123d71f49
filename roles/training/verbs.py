"""train: launch, follow, inspect and stop training runs, on hosts over SSH or on a cluster."""

from playrunner.page.verbs import train_report as report
from playrunner.training.verbs.cluster import netcheck, precompile, top
from playrunner.training.verbs.data import stage
from playrunner.training.verbs.inspection import (
    bench,
    env,
    logs,
    shell,
    status,
    tensorboard,
    watch,
    why,
)
from playrunner.training.verbs.listing import profiles, settings
from playrunner.training.verbs.model import evaluate, export, generate, import_weights
from playrunner.training.verbs.profile import check
from playrunner.training.verbs.runs import (
    attach,
    delete,
    launch,
    prepare,
    prune,
    queue,
    resume,
    scale,
    stop,
)

GROUP = "train"
LIFECYCLE = False  # runs are launched and stopped, not created and deleted
__all__ = [
    "attach",
    "bench",
    "check",
    "delete",
    "env",
    "evaluate",
    "export",
    "generate",
    "import_weights",
    "launch",
    "logs",
    "netcheck",
    "precompile",
    "prepare",
    "profiles",
    "prune",
    "queue",
    "report",
    "resume",
    "scale",
    "settings",
    "shell",
    "stage",
    "status",
    "stop",
    "tensorboard",
    "top",
    "watch",
    "why",
]
