"""What a profile reads, where that is, and whether it can be looked at from here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from playrunner.project import program
from playrunner.training.profile_check.finding import OK, PROBLEM, UNKNOWN, Finding
from playrunner.training.profile_check.machines import Machines
from trainer.config import Train

TOKEN = "HF_TOKEN"  # by which the hub's library knows an account
_OWN_TOKENIZERS = ("bytes", "trained")


def data(train: Train, machines: Machines) -> Iterator[Finding]:
    yield from _samples(train, machines)
    yield from _tokenizer(train, machines)
    others = {
        "train.data.validation_path": train.data.validation_path,
        "train.evaluate.wikitext": train.evaluate.wikitext,
        "train.evaluate.lambada": train.evaluate.lambada,
        "train.model.initial_weights": train.model.initial_weights,
        "train.distill.teacher": train.distill.teacher.removeprefix("fresh"),
    }
    for setting, path in others.items():
        if path:
            yield _file(setting, path, machines)


def _samples(train: Train, machines: Machines) -> Iterator[Finding]:
    source = train.data
    if source.source == "synthetic":
        yield Finding("data", OK, f"{source.samples} synthetic samples; nothing is read")
    elif source.source == "hf":
        name = " ".join(filter(None, [source.dataset, source.dataset_config, source.split]))
        if not source.dataset:
            yield Finding("data", PROBLEM, "source hf without a name", "set train.data.dataset")
            return
        how = "streamed" if source.stream else "downloaded"
        yield Finding(
            "data",
            UNKNOWN,
            f"{name} is {how} from the hub by every {'rank' if source.stream else 'node'}; whether"
            f" nodes reach it is not known here{_token(machines)}",
        )
    elif not source.path:
        yield Finding(
            "data", PROBLEM, f"source {source.source} reads no path", "set train.data.path"
        )
    else:
        yield _file("train.data.path", source.path, machines)


def _tokenizer(train: Train, machines: Machines) -> Iterator[Finding]:
    name = train.data.tokenizer
    reads_text = train.data.source in ("hf", "text", "folder") and train.model.kind != "mlp"
    if not reads_text or name in _OWN_TOKENIZERS:
        return
    if PurePosixPath(name).is_absolute() or Path(name).exists():
        yield _file("train.data.tokenizer", name, machines)
        return
    yield Finding("data", UNKNOWN, f"tokenizer {name} comes from the hub{_token(machines)}")


def _token(machines: Machines) -> str:
    return (
        f", with the token of train_environment.{TOKEN}"
        if TOKEN in machines.environment
        else f"; gated ones need {TOKEN} in train_environment"
    )


def _file(setting: str, path: str, machines: Machines) -> Finding:
    if "://" in path:
        return Finding("data", UNKNOWN, f"{setting} {path}: read by the nodes, with their rights")
    if machines.on_cluster:
        return _in_pods(setting, path, machines)
    if Path(path).exists():
        return Finding("data", OK, f"{setting} {path}: is on this machine; nodes need it as well")
    return Finding(
        "data",
        UNKNOWN,
        f"{setting} {path}: is not on this machine, and nodes are not asked",
        f"{program()} train.launch looks there before it starts",
    )


def _in_pods(setting: str, path: str, machines: Machines) -> Finding:
    mount = PurePosixPath(machines.mount or "/")
    if machines.claim and mount in PurePosixPath(path).parents:
        return Finding(
            "data",
            UNKNOWN,
            f"{setting} {path}: on the claim {machines.claim}, which only pods can look at",
            f"{program()} train.stage puts data there",
        )
    return Finding(
        "data",
        UNKNOWN,
        f"{setting} {path}: not on the claim (train_mount {machines.mount}), so the image must"
        " hold it",
        f"set {setting} to a path under {machines.mount}, or train_mount",
    )
