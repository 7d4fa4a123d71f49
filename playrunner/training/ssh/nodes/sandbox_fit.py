"""A profile that is written for machines with GPUs, fitted to the sandbox's nodes: the model stays
as it is; what this machine cannot do is replaced, and each replacement is told in one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from playrunner.frozen import frozen
from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.training.request import Request, read_request
from playrunner.training.screen.screen import LiveLine
from playrunner.training.ssh.job import Job
from playrunner.training.ssh.plan import plan
from trainer.config import Profile

MINUTES = 5  # from the command to its end
OUTSIDE = 0.25  # of them before the processes start and after they end
KEPT = 2  # checkpoints
HUB, HUB_SECONDS = "https://huggingface.co", 5.0


@frozen
class Replacement:
    settings: tuple[str, ...]  # as after --set
    text: str

    @property
    def names(self) -> set[str]:
        return {each.partition("=")[0] for each in self.settings}


def fitted(
    request: Request,
    job: Job,
    facts: dict[str, dict[str, Any]],
    fleet: Fleet,
    options: Options,
    line: LiveLine,
) -> tuple[Request, Job]:
    """The request and the job for the sandbox's nodes; as they are everywhere else."""
    folder = str(fleet.variable(job.master.host, "sandbox_state", "") or "")
    if not folder or job.profile.script or not _lacks_devices(job.profile, facts):
        return request, job
    cores = min(int(said.get("cores") or 1) for said in facts.values())
    text = Path(folder) / "shared" / "texts" / "english.txt"
    given = {each.partition("=")[0] for each in request.overrides}
    chosen = [
        each
        for each in replacements(job.profile, len(job.nodes), cores, text, hub_trouble(job.profile))
        if not each.names & given
    ]
    for each in chosen:
        line.say(f"sandbox: {each.text}")
    reads_text = f"train.data.path={text}"
    if any(reads_text in each.settings for each in chosen) and not options.check:
        _write_text(text)
    # A text that is still to be written cannot be looked for
    absent = options.check and not text.exists()
    settings = [
        setting
        for each in chosen
        if not (absent and reads_text in each.settings)
        for setting in each.settings
    ]
    request = replace(request, overrides=(*settings, *request.overrides))
    return request, plan(request, read_request(request), fleet, options)


def _lacks_devices(profile: Profile, facts: dict[str, dict[str, Any]]) -> bool:
    train = profile.train
    if train.device != "auto" or train.strategy.name == "neuron":
        return False
    kinds = [(said.get("devices") or {}).get("kind") for said in facts.values()]
    return bool(kinds) and all(kind == "cpu" for kind in kinds)


def replacements(
    profile: Profile, nodes: int, cores: int, text: Path, hub: str
) -> Iterator[Replacement]:
    """`cores` are this machine's, which all nodes share; `hub` says why the data set cannot be
    had."""
    train, launch = profile.train, profile.launch
    processes = min(launch.processes_per_node, max(1, cores // nodes))
    if processes != launch.processes_per_node:
        yield Replacement(
            (f"launch.processes_per_node={processes}",),
            f"{processes} process{'es' * (processes != 1)} per node in place of"
            f" {launch.processes_per_node}: this machine has {cores} cores for {nodes} nodes",
        )
    together = processes * nodes * train.device_batch_size
    if processes != launch.processes_per_node and train.batch_size > together:
        yield Replacement(
            (f"train.batch_size={together}",),
            f"batch {together} in place of {train.batch_size}: {train.device_batch_size} for each"
            " process, as in the profile",
        )
    if train.precision != "fp32":
        yield Replacement(
            ("train.precision=fp32",),
            f"precision fp32 in place of {train.precision}, which is for GPUs",
        )
    yield Replacement(
        (f"train.minutes={MINUTES - OUTSIDE:g}", "train.log.every=1"),
        f"as many of the {train.steps} steps as {MINUTES} minutes allow, start and end included,"
        " each with a line; how many is said after the first ones",
    )
    if not train.checkpoint.keep or train.checkpoint.keep > KEPT:
        yield Replacement(
            (f"train.checkpoint.keep={KEPT}",), f"the newest {KEPT} checkpoints are kept"
        )
    if hub:
        yield Replacement(
            (
                "train.data.source=text",
                f"train.data.path={text}",
                "train.data.tokenizer=trained",
                "train.data.validation_fraction=0.02",
            ),
            f"a small English text (Python's own manual) in place of {train.data.dataset}: {hub}",
        )


def hub_trouble(profile: Profile) -> str:
    """Why a hub's data set cannot be had here; empty where it can, or none is wanted."""
    data = profile.train.data
    if data.source != "hf" or Path(data.dataset).exists():
        return ""
    if find_spec("datasets") is None:
        return "the library datasets is not installed"
    if os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        return "HF_HUB_OFFLINE is set"
    from urllib.error import HTTPError
    from urllib.request import Request as WebRequest
    from urllib.request import urlopen

    address = os.environ.get("HF_ENDPOINT") or HUB
    try:
        urlopen(WebRequest(address, method="HEAD"), timeout=HUB_SECONDS).close()
    except HTTPError:
        return ""  # it answers
    except (OSError, ValueError) as error:
        return f"{address} cannot be reached ({getattr(error, 'reason', None) or error})"
    return ""


def _write_text(path: Path) -> None:
    """Half a megabyte of English that comes with every Python."""
    from pydoc_data.topics import topics

    text = "\n\n".join(str(topics[name]) for name in sorted(topics))
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
