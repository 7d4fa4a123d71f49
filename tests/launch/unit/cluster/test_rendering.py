"""The rendered jobs, field by field, as the operators read them."""

from __future__ import annotations

from typing import Any

from playrunner.training.kube.session import ClusterSettings
from tests.support.launch.rendered import (
    ID,
    cpus,
    own_state,  # noqa: F401
)
from tests.support.launch.rendering import GIB, container, environment, node, planned, rendered

TRN1 = {
    "cpu": 128.0,
    "memory": 512 * GIB,
    "aws_amazon_com__neuron": 16.0,
    "vpc_amazonaws_com__efa": 8.0,
}


def trainium() -> list[Any]:
    return [node(name, "trn1.32xlarge", **TRN1) for name in ("a", "b")]


def gpus(count: int = 4) -> list[Any]:
    return [
        node(
            f"gpu-{at}",
            "p4d.24xlarge",
            cpu=96.0,
            memory=1152 * GIB,
            nvidia_com__gpu=8.0,
            vpc_amazonaws_com__efa=4.0,
        )
        for at in range(count)
    ]


def flags(pod: dict[str, Any]) -> dict[str, str]:
    words = container(pod)["args"]
    return {
        name.lstrip("-"): value
        for name, _, value in (word.partition("=") for word in words[: words.index("-m")])
    }


def test_a_volcano_job_is_a_gang_of_one_task_per_replica() -> None:
    job = rendered(
        planned(
            "vcjob",
            "bert-large",
            trainium(),
            2,
            ClusterSettings(image="i", claim="fsx-claim", queue="test"),
        )
    )["Job"]
    spec = job["spec"]
    assert (job["apiVersion"], job["metadata"]["name"]) == ("batch.volcano.sh/v1alpha1", ID)
    assert (spec["schedulerName"], spec["queue"], spec["minAvailable"], spec["maxRetry"]) == (
        "volcano",
        "test",
        2,
        3,
    )
    assert spec["plugins"] == {"svc": ["--publish-not-ready-addresses"], "env": []}
    tasks = [(task["name"], task["replicas"], task["maxRetry"]) for task in spec["tasks"]]
    assert tasks == [("role1-0", 1, 3), ("role1-1", 1, 3)]
    assert spec["tasks"][0]["policies"] == [
        {"exitCode": 79, "action": "TerminateJob"},
        {"event": "PodEvicted", "action": "RestartJob"},
        {"event": "PodFailed", "action": "RestartJob"},
    ]


def test_its_pods_get_all_neuron_devices_and_cards_of_a_node_and_are_guaranteed() -> None:
    pod = rendered(planned("vcjob", "bert-large", trainium(), 2))["Job"]["spec"]["tasks"][1][
        "template"
    ]
    resources = container(pod)["resources"]
    assert resources["limits"] == {
        "cpu": "115",
        "memory": "460Gi",
        "aws.amazon.com/neuron": "16",
        "vpc.amazonaws.com/efa": "8",
    }
    assert resources["requests"] == resources["limits"]
    assert pod["spec"]["nodeSelector"] == {"node.kubernetes.io/instance-type": "trn1.32xlarge"}
    assert pod["spec"]["restartPolicy"] == "Never"
    assert pod["metadata"]["annotations"] == {"sidecar.istio.io/inject": "false"}
    labels = pod["metadata"]["labels"]
    assert (labels["torchx.pytorch.org/role-name"], labels["torchx.pytorch.org/replica-id"]) == (
        "role1",
        "1",
    )
    assert (labels["app.kubernetes.io/instance"], labels["app.kubernetes.io/managed-by"]) == (
        ID,
        "playrunner",
    )
    volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
    assert volumes["dshm"]["emptyDir"]["medium"] == "Memory"
    assert volumes["data"]["persistentVolumeClaim"] == {"claimName": "fsx-claim"}
    assert {"name": "data", "mountPath": "/data"} in container(pod)["volumeMounts"]


def test_trainium_gets_its_variables_and_a_cache_for_each_replica() -> None:
    settings = ClusterSettings(image="i", claim="fsx-claim", cacheset="bert-large")
    tasks = rendered(planned("vcjob", "bert-large", trainium(), 2, settings))["Job"]["spec"][
        "tasks"
    ]
    found = environment(tasks[1]["template"])
    wanted = {
        "CCOM_SOCKET_IFNAME": "eth0",
        "FI_PROVIDER": "efa",
        "FI_EFA_USE_DEVICE_RDMA": "1",
        "FI_EFA_FORK_SAFE": "1",
        "NEURON_RT_RESET_CORES": "1",
        "XLA_TRANSFER_SEED_ASYNC": "1",
        "XLA_DOWNCAST_BF16": None,  # without effect from torch-xla 2.8 on: ranks autocast
        "NEURON_CC_FLAGS": (
            "--cache_dir=/data/neuron_cache/bert-large_1 --auto-cast=none --model-type=transformer"
        ),
        "TRANSFORMERS_CACHE": "/data/transformers_cache/bert-large_1",
    }
    assert {name: found.get(name) for name in wanted} == wanted
    assert environment(tasks[0]["template"])["NEURON_CC_FLAGS"].split()[0].endswith("bert-large_0")


def test_thirty_two_processes_meet_under_the_run_s_own_id() -> None:
    pod = rendered(
        planned(
            "vcjob",
            "bert-large",
            trainium(),
            2,
            ClusterSettings(image="i", claim="c", rendezvous="etcd", etcd="etcd-server:2379"),
        )
    )["Job"]["spec"]["tasks"][0]["template"]
    said = flags(pod)
    assert (said["nnodes"], said["nproc_per_node"], said["rdzv_id"], said["tee"]) == (
        "2",
        "32",
        ID,
        "3",
    )
    assert (said["rdzv_backend"], said["rdzv_endpoint"]) == ("etcd", "etcd-server:2379")


def test_a_pytorch_job_has_one_master_and_the_rest_are_workers() -> None:
    objects = rendered(planned("pytorchjob", "mnist-mlp", cpus(), 2))
    spec = objects["PyTorchJob"]["spec"]
    replicas = spec["pytorchReplicaSpecs"]
    assert {role: (each["replicas"], each["restartPolicy"]) for role, each in replicas.items()} == {
        "Master": (1, "OnFailure"),
        "Worker": (1, "OnFailure"),
    }
    assert "elasticPolicy" not in spec
    pod = replicas["Master"]["template"]
    assert container(pod)["name"] == "pytorch"
    assert container(pod)["ports"] == [
        {"name": "pytorchjob-port", "containerPort": 29500, "protocol": "TCP"}
    ]
    said = flags(pod)
    assert (said["nnodes"], said["nproc_per_node"], said["rdzv_backend"]) == ("2", "2", "c10d")
    assert (said["rdzv_endpoint"], said["rdzv_id"]) == (f"{ID}-master-0:29500", ID)
    found = environment(pod)
    assert (found["GLOO_SOCKET_IFNAME"], found["TP_SOCKET_IFNAME"]) == ("eth0", "eth0")
    assert spec["runPolicy"]["cleanPodPolicy"] == "None"


def test_an_elastic_pytorch_job_says_least_and_most_in_both_places() -> None:
    spec = rendered(
        planned(
            "pytorchjob",
            "llama2-7b",
            gpus(),
            2,
            overrides=("launch.min_nodes=1", "launch.max_nodes=4", "launch.max_restarts=100"),
        )
    )["PyTorchJob"]["spec"]
    assert list(spec["pytorchReplicaSpecs"]) == ["Worker"]
    assert spec["pytorchReplicaSpecs"]["Worker"]["replicas"] == 2
    assert spec["elasticPolicy"] == {
        "rdzvBackend": "c10d",
        "rdzvHost": f"{ID}-worker-0",
        "rdzvPort": 29500,
        "rdzvId": ID,
        "minReplicas": 1,
        "maxReplicas": 4,
        "maxRestarts": 100,
    }
    assert flags(spec["pytorchReplicaSpecs"]["Worker"]["template"])["nnodes"] == "1:4"


def test_fsdp_on_gpus_gets_whole_nodes_and_the_flight_recorder() -> None:
    replicas = rendered(planned("pytorchjob", "llama2-7b", gpus(), 4))["PyTorchJob"]["spec"][
        "pytorchReplicaSpecs"
    ]
    template = replicas["Worker"]["template"]
    resources = container(template)["resources"]
    assert (
        resources["requests"]
        == resources["limits"]
        == {
            "cpu": "86",
            "memory": "1036Gi",
            "nvidia.com/gpu": "8",
            "vpc.amazonaws.com/efa": "4",
        }
    )
    found = environment(template)
    wanted = {
        "TORCH_NCCL_ENABLE_MONITORING": "1",
        "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "NCCL_DEBUG": "INFO",
        "LOGLEVEL": "INFO",
    }
    assert {name: found.get(name) for name in wanted} == wanted
    assert found["TORCH_NCCL_DEBUG_INFO_TEMP_FILE"] == "/data/runs/bert/output/nccl_trace_rank_"
    assert template["spec"]["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    ]


def test_an_elastic_job_leaves_the_first_four_flags_to_its_controller() -> None:
    overrides = ("launch.min_nodes=1", "launch.max_nodes=2")
    settings = ClusterSettings(image="i", claim="efs-claim", rendezvous="etcd")
    offered = [node(name, "g4dn.xlarge", nvidia_com__gpu=1.0) for name in ("a", "b")]
    spec = rendered(planned("elasticjob", "gpt2-elastic", offered, 2, settings, overrides))[
        "ElasticJob"
    ]["spec"]
    assert (spec["rdzvEndpoint"], spec["minReplicas"], spec["maxReplicas"]) == (
        "etcd-service:2379",
        1,
        2,
    )
    worker = spec["replicaSpecs"]["Worker"]
    assert worker["replicas"] == 2
    words = container(worker["template"])["args"]
    assert words[0] == "--nproc_per_node=1"
    assert not any(
        word.startswith(("--nnodes", "--rdzv_id", "--rdzv_endpoint", "--rdzv_backend"))
        for word in words
    )
    assert container(worker["template"])["resources"]["limits"] == {
        "cpu": "3",
        "memory": "14Gi",
        "nvidia.com/gpu": "1",
    }


def test_without_etcd_an_elastic_job_meets_at_its_first_worker() -> None:
    spec = rendered(planned("elasticjob", "gpt2-micro-smoke", cpus(), 2))["ElasticJob"]["spec"]
    assert spec["rdzvEndpoint"] == f"{ID}-worker-0:29500"
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 2)
    assert "--rdzv_backend=c10d" in container(spec["replicaSpecs"]["Worker"]["template"])["args"]


def test_a_plain_job_is_indexed_and_brings_the_names_its_pods_meet_under() -> None:
    objects = rendered(planned("job", "gpt2-micro-smoke", cpus(), 2))
    spec = objects["Job"]["spec"]
    assert (objects["Job"]["apiVersion"], spec["completionMode"]) == ("batch/v1", "Indexed")
    assert (spec["completions"], spec["parallelism"]) == (2, 2)
    pod = spec["template"]
    assert (pod["spec"]["subdomain"], pod["spec"]["restartPolicy"]) == (ID, "Never")
    assert flags(pod)["rdzv_endpoint"] == f"{ID}-0.{ID}:29500"
    service = objects["Service"]["spec"]
    assert (service["clusterIP"], service["publishNotReadyAddresses"]) == ("None", True)
    assert service["selector"].items() <= pod["metadata"]["labels"].items()
