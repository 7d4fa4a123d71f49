"""The stories that can be rehearsed, each with the profile, inventory and nodes of its guide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.text.did_you_mean import did_you_mean


@frozen
class Story:
    """One guide, as it is rehearsed."""

    name: str
    title: str
    playbook: str
    inventory: str
    profile: str
    nodes: int
    runs: tuple[str, ...]  # that it launches, by name
    cloud: str = "aws"
    variables: Mapping[str, Any] = field(default_factory=dict)  # the guide's own choices
    packages: tuple[str, ...] = ("torch",)  # beside the sandbox's, for its data and strategy
    # What an account needs and no rehearsal shows, each with the command that shows or brings it
    unproved: tuple[str, ...] = ()

    @property
    def data_packages(self) -> tuple[str, ...]:
        return (*(("moto",) if self.cloud == "aws" else ()), *self.packages)


_IMAGE = "image {image} built and pushed: {program} play {playbook} --inventory {inventory} --tags"
_IMAGE += " all,image"
_QUOTA = "quota and capacity for {machines}: {program} preflight.check --inventory {inventory}"
_TOKEN = "the hub's token for tokenizer and C4: HF_TOKEN=... in this shell's environment"

STORIES = {
    story.name: story
    for story in (
        Story(
            "eks-cpu",
            "a small network on MNIST, PyTorchJobs on CPU machines",
            "train-on-eks-cpu",
            "eks-cpu",
            "mnist-mlp",
            2,
            ("mnist-mlp",),
            unproved=(_QUOTA.replace("{machines}", "2 m5.large"), _IMAGE.replace("{image}", "cpu")),
        ),
        Story(
            "eks-gpu",
            "GPT-2 over spot machines that come and go, ElasticJobs",
            "train-on-eks-gpu",
            "eks-gpu",
            "gpt2-elastic",
            8,
            ("gpt2-elastic",),
            variables={"elastic_nodes": 8},
            unproved=(
                _QUOTA.replace("{machines}", "8 g4dn.xlarge"),
                _IMAGE.replace("{image}", "gpt2-elastic"),
            ),
        ),
        Story(
            "eks-trainium",
            "BERT-large on Trainium, Volcano's jobs",
            "train-on-eks-trainium",
            "eks-trainium",
            "bert-large",
            2,
            ("bert-large",),
            packages=("torch", "h5py"),
            unproved=(
                _QUOTA.replace("{machines}", "2 trn1.32xlarge"),
                _IMAGE.replace("{image}", "bert"),
                "graphs compiled by neuronx-cc: a stand-in of it counts two",
            ),
        ),
        Story(
            "eks-llama",
            "Llama 2 7B with FSDP on 8 x 8 A100s, PyTorchJobs",
            "train-on-eks-llama",
            "eks-llama",
            "llama2-7b",
            8,
            ("llama2-7b",),
            unproved=(
                _QUOTA.replace("{machines}", "8 p4d.24xlarge"),
                _IMAGE.replace("{image}", "fsdp"),
                _TOKEN,
            ),
        ),
        Story(
            "eks-llama-70b",
            "Llama 2 70B with FSDP on 16 x 8 A100s",
            "train-on-eks-llama",
            "eks-llama",
            "llama2-70b",
            16,
            ("llama2-70b",),
            variables={"llama_size": "70b"},
            unproved=(
                _QUOTA.replace("{machines}", "16 p4d.24xlarge"),
                _IMAGE.replace("{image}", "fsdp"),
                _TOKEN,
            ),
        ),
        Story(
            "gke",
            "GPT-2 micro on 2 x 8 A100s: a plain Job, then DeepSpeed over SSH",
            "train-on-gke",
            "gke",
            "gpt2-micro",
            2,
            ("gpt2-micro", "gpt2-micro-ssh"),
            cloud="gcp",
            packages=("torch", "deepspeed"),
            unproved=(
                _QUOTA.replace("{machines}", "2 a2-highgpu-8g"),
                _IMAGE.replace("{image}", "gpt2-elastic"),
            ),
        ),
    )
}


def story_of(name: str) -> Story:
    if name in STORIES:
        return STORIES[name]
    hint = did_you_mean(name, STORIES, f"there are {', '.join(STORIES)}")
    raise BadInput(f'no story "{name}"{hint}')
