"""The guides' jobs: their profiles with this project's inventories, on nodes such as theirs, under
a known id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.options import Options
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.job_spec.node_capacity import NodeCapacity
from playrunner.training.kube.session import ClusterSettings, open_session
from tests.support.launch.rendering import GIB, TEMPLATES, node, planned

NAME, ID = "bert", "bert-hpzwjhg4"  # what `planned` calls every job
IMAGE = "registry.test/trainer:1"
INVENTORIES = TEMPLATES.parents[1] / "inventories"


def ground_of(inventory: str, **said: Any) -> ClusterSettings:
    """What an inventory says of the place, with a little said beside it."""
    words = {
        "train_image": IMAGE,
        "train_namespace": "default",
        **{f"train_{name}": value for name, value in said.items()},
    }
    given = tuple(f"{name}={value}" for name, value in words.items())
    return open_session(
        Options((str(INVENTORIES / f"{inventory}.yaml"),), kubeconfig="/none", extra_vars=given)
    ).settings


def elastic_gpt2(**said: Any) -> ClusterJob:
    """GPT-2 on eight machines with one T4 each."""
    offered = [
        node(f"gpu-{at}", "g4dn.xlarge", memory=15 * GIB, nvidia_com__gpu=1.0) for at in range(8)
    ]
    return planned("elasticjob", "gpt2-elastic", offered, 8, ground_of("eks-gpu", **said))


def cpu_mlp(**said: Any) -> ClusterJob:
    """The small network on two plain machines."""
    offered = [node(name, "m5.large", cpu=2.0, memory=8 * GIB) for name in ("a", "b")]
    return planned("pytorchjob", "mnist-mlp", offered, 2, ground_of("eks-cpu", **said))


def elastic_llama(kind: str = "p4d.24xlarge", **said: Any) -> ClusterJob:
    """Llama 2 on up to 64 machines with eight GPUs each, of which eight are taken now."""
    large: dict[str, dict[str, float]] = {
        "p4d.24xlarge": {"cpu": 96.0, "memory": 1152 * GIB, "vpc_amazonaws_com__efa": 4.0},
        "p5.48xlarge": {
            "cpu": 192.0,
            "memory": 2048 * GIB,
            "vpc_amazonaws_com__efa": 32.0,
            "hugepages-2Mi": 5120 * 2.0**20,
        },
    }
    offered: list[NodeCapacity] = [
        node(f"gpu-{at}", kind, nvidia_com__gpu=8.0, **large[kind]) for at in range(64)
    ]
    settings = ("launch.min_nodes=1", "launch.max_nodes=64")
    return planned(
        "pytorchjob",
        "llama2-7b",
        offered,
        8,
        ground_of("eks-existing", claim="fsx-claim", **said),
        settings,
    )


def trainium_bert(kind: str = "trn1.32xlarge", cards: int = 8, **said: Any) -> ClusterJob:
    """BERT-large on two Trainium machines; the other kind has sixteen cards."""
    offered = [
        node(
            name,
            kind,
            cpu=128.0,
            memory=512 * GIB,
            aws_amazon_com__neuron=16.0,
            vpc_amazonaws_com__efa=float(cards),
        )
        for name in ("a", "b")
    ]
    return planned(
        "vcjob", "bert-large", offered, 2, ground_of("eks-trainium", cacheset="bert-large", **said)
    )


def micro_gpt2(launcher: str, **said: Any) -> ClusterJob:
    """GPT-2 micro on two machines of Google's with eight A100s each, which come when a job waits
    for them."""
    return planned(
        launcher, "gpt2-micro", [node("main-1", "e2-standard-4")], 2, ground_of("gke", **said)
    )


_ETCD = {"rendezvous": "etcd", "etcd": "etcd-server:2379"}
# Every job that there are tables for; what is said of the place beside the inventory may be said
# anew.
JOBS: dict[str, Callable[..., ClusterJob]] = {
    "elasticjob": elastic_gpt2,
    "elasticjob with etcd": lambda **said: elastic_gpt2(rendezvous="etcd", **said),
    "pytorchjob": cpu_mlp,
    "pytorchjob, elastic": elastic_llama,
    "pytorchjob, elastic, with etcd": lambda **said: elastic_llama(
        rendezvous="etcd", etcd="etcd:2379", **said
    ),
    "pytorchjob, elastic, on p5": lambda **said: elastic_llama("p5.48xlarge", **said),
    "vcjob": trainium_bert,
    "vcjob on trn1n": lambda **said: trainium_bert("trn1n.32xlarge", 16, **said),
    "vcjob with everything said": lambda **said: trainium_bert(
        **{
            **_ETCD,
            "namespace": "training",
            "service_account": "trainer",
            "priority_class": "high",
            **said,
        }
    ),
    "job": lambda **said: micro_gpt2("job", **said),
    "deepspeedjob": lambda **said: micro_gpt2("deepspeedjob", **said),
}
