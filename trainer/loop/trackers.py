"""Where metrics go beside the run's own file: TensorBoard, Weights & Biases, MLflow, each through
its own library, imported on rank 0 alone.

Accounts and tokens come from the environment (WANDB_API_KEY, MLFLOW_TRACKING_TOKEN), never from a
profile. A service that fails later is given up with one line: training goes on.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import secrets
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from trainer.config import Train
from trainer.errors import BadInput

_LIBRARIES = {"tensorboard": "tensorboard", "wandb": "wandb", "mlflow": "mlflow"}
_EXTRAS = {"tensorboard": "train", "wandb": "wandb", "mlflow": "mlflow"}
_MOST_PARAMS = 100  # of MLflow in one call
_IDS = "trackers.json"  # in the output folder: which run of each service a resumed one goes on in


class Tracker(Protocol):
    name: str

    def write(self, values: Mapping[str, float], step: int) -> None: ...
    def close(self, failed: bool) -> None: ...


def wanted(train: Train) -> list[str]:
    """In the order given; `log.tensorboard` is the older way to name the first."""
    board = ["tensorboard"] if train.log.tensorboard else []
    return list(dict.fromkeys([*board, *train.log.to]))


def check_trackers(train: Train) -> None:
    """Refuse what cannot be logged to, on every rank alike and before anything is imported."""
    for name in wanted(train):
        if importlib.util.find_spec(_LIBRARIES[name]) is None:
            raise BadInput(
                f"train.log.to {name} needs its library where the run is:"
                f' pip install "playrunner[{_EXTRAS[name]}]"'
            )
    if "wandb" in train.log.to and not _wandb_account():
        raise BadInput(
            "train.log.to wandb has no account: set WANDB_API_KEY in train_environment (it becomes"
            " a secret), or WANDB_MODE=offline"
        )


def _wandb_account() -> bool:
    if os.environ.get("WANDB_MODE", "online") != "online" or os.environ.get("WANDB_API_KEY"):
        return True
    given = os.environ.get("NETRC")
    files = [Path(given)] if given else [Path("~/.netrc").expanduser(), Path("~/_netrc")]
    return any(file.expanduser().is_file() for file in files)


class Trackers:
    """All that a run logs to; each is dropped at its first failure."""

    def __init__(self, train: Train, output: Path) -> None:
        self._open: list[Tracker] = []
        for name in wanted(train):
            try:
                self._open.append(_OPENERS[name](train, output))
            except Exception as error:  # another's library, and its service
                raise BadInput(f"train.log.to {name}: {_first(error)}") from None

    def write(self, record: Mapping[str, Any]) -> None:
        values = {
            key if "/" in key else f"train/{key}": value
            for key, value in record.items()
            if isinstance(value, float | int) and key not in ("step", "time")
        }
        if not values:
            return
        for tracker in list(self._open):
            try:
                tracker.write(values, int(record["step"]))
            except Exception as error:  # another's library, and its service
                self._open.remove(tracker)
                _warn(f"{tracker.name} is given up: {_first(error)}; metrics.jsonl has all")

    def close(self, failed: bool = False) -> None:
        for tracker in self._open:
            try:
                tracker.close(failed)
            except Exception as error:  # another's library, and its service
                _warn(f"{tracker.name} did not end well: {_first(error)}")
        self._open = []


class _TensorBoard:
    name = "tensorboard"

    def __init__(self, train: Train, output: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer: Any = SummaryWriter(str(output / "tensorboard"))

    def write(self, values: Mapping[str, float], step: int) -> None:
        for key, value in values.items():
            self._writer.add_scalar(key, value, step)

    def close(self, failed: bool) -> None:
        self._writer.close()


class _Wandb:
    name = "wandb"

    def __init__(self, train: Train, output: Path) -> None:
        os.environ.setdefault("WANDB_SILENT", "true")  # its lines would stand among the run's
        wandb: Any = importlib.import_module("wandb")
        identity = _identity(output, self.name) or secrets.token_hex(4)
        self._run: Any = wandb.init(
            project=train.log.project,
            name=_run_name(output),
            id=identity,
            resume="allow",
            dir=str(output),
            config=asdict(train),
            settings=wandb.Settings(console="off", save_code=False, disable_git=True),
        )
        _keep_identity(output, self.name, identity)

    def write(self, values: Mapping[str, float], step: int) -> None:
        self._run.log(dict(values), step=step)

    def close(self, failed: bool) -> None:
        self._run.finish(exit_code=1 if failed else 0)


class _Mlflow:
    name = "mlflow"

    def __init__(self, train: Train, output: Path) -> None:
        os.environ.setdefault("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "false")
        if not os.environ.get("MLFLOW_TRACKING_URI"):
            # A store of files, which newer libraries have to be asked for
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        mlflow: Any = importlib.import_module("mlflow")
        entities: Any = importlib.import_module("mlflow.entities")
        self._metric, self._param = entities.Metric, entities.Param
        address = os.environ.get("MLFLOW_TRACKING_URI") or (output / "mlruns").resolve().as_uri()
        self._client: Any = mlflow.MlflowClient(tracking_uri=address)
        self._id = _identity(output, self.name)
        if self._id:
            self._client.update_run(self._id, status="RUNNING")
            return
        known = self._client.get_experiment_by_name(train.log.project)
        experiment = (
            known.experiment_id if known else self._client.create_experiment(train.log.project)
        )
        run = self._client.create_run(experiment, run_name=_run_name(output))
        self._id = run.info.run_id
        _keep_identity(output, self.name, self._id)
        settings = [self._param(key, str(value)[:500]) for key, value in _flat(asdict(train))]
        for first in range(0, len(settings), _MOST_PARAMS):
            self._client.log_batch(self._id, params=settings[first : first + _MOST_PARAMS])

    def write(self, values: Mapping[str, float], step: int) -> None:
        now = int(time.time() * 1000)
        metrics = [self._metric(key, float(value), now, step) for key, value in values.items()]
        self._client.log_batch(self._id, metrics=metrics)

    def close(self, failed: bool) -> None:
        self._client.set_terminated(self._id, "FAILED" if failed else "FINISHED")


_OPENERS: dict[str, Any] = {"tensorboard": _TensorBoard, "wandb": _Wandb, "mlflow": _Mlflow}


def _run_name(output: Path) -> str:
    """A launched run's is in its folder's path: NAME/output."""
    folder = output.resolve()
    return folder.parent.name if folder.name == "output" else folder.name


def _identity(output: Path, name: str) -> str:
    try:
        kept = json.loads((output / _IDS).read_text())
    except (OSError, ValueError):
        return ""
    return str(kept.get(name) or "") if isinstance(kept, dict) else ""


def _keep_identity(output: Path, name: str, identity: str) -> None:
    path = output / _IDS
    try:
        kept = json.loads(path.read_text())
    except (OSError, ValueError):
        kept = {}
    path.write_text(json.dumps({**kept, name: identity}) + "\n")


def _flat(values: Mapping[str, Any], path: str = "train") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{path}.{key}")
        else:
            yield f"{path}.{key}", value


def _first(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _warn(text: str) -> None:
    print(f"trainer: {text}", file=sys.stderr, flush=True)
