"""The facts about jobs, in words, by section and subject: what the operators insist on, and what
the guides' jobs have."""

from __future__ import annotations

FACTS: dict[str, str] = {
    "2 job": "batch/v1; a pod that ends is not started again in its place",
    "2 selectors": "GPU machines are those of pool-1",
    "2 taint": (
        "nodes with GPUs carry nvidia.com/gpu=present:NoSchedule where there are others, and pods"
        " tolerate it"
    ),
    "3.3 HOME": "HOME is /home, where the claim is",
    "3.3 shm": "/dev/shm is memory, of no stated size",
    "6.1 kind": "elastic.pytorch.org/v1alpha1 ElasticJob",
    "6.1 rdzvEndpoint": "host and port of the meeting: etcd-service:2379",
    "6.1 replicas": "a least and a most, 1 and 2 in the sample",
    "6.1 run policy is inlined": (
        "its fields stand in spec itself; under RunPolicy they are ignored"
    ),
    "6.1 cleanPodPolicy": "None: pods stay",
    "6.1 other ends": (
        "ttlSecondsAfterFinished, activeDeadlineSeconds, schedulingPolicy.minAvailable"
    ),
    "6.1 restartPolicy": "Always, OnFailure, Never or ExitCode; the sample's is ExitCode",
    "6.1 arguments": (
        "begin with --nproc_per_node: the controller puts backend, endpoint, id and --nnodes before"
        " them"
    ),
    "6.1 shm": "loaders have no workers, to stay within 64 MB",
    "6.1 names": "pods and Services are JOB-worker-N",
    "6.1 conditions": "Created, Running, Restarting, Succeeded, Failed",
    "6.1 scaling": "Worker.replicas is changed, everybody meets again and resumes",
    "6.1 most": "never more than the cluster has",
    "6.1 uniqueness": "the job's name is the rendezvous id, and a legal name",
    "6.2 kind": "kubeflow.org/v1 PyTorchJob",
    "6.2 port": "a container port named pytorchjob-port; 29500, where the processes meet",
    "6.2 restartPolicy": "OnFailure",
    "6.2 cleanPodPolicy": "None: pods stay after completion",
    "6.2 injected": (
        "PYTHONUNBUFFERED, MASTER_ADDR, WORLD_SIZE (replicas times nprocPerNode), RANK, PET_*"
    ),
    "6.2 labels": "training.kubeflow.org/job-name, replica-type, replica-index",
    "6.2 states": "the type of the last condition",
    "6.2 waiting": "workers await the master's name in an init container",
    "6.2 success": "the master's, or every worker's, or with elasticPolicy any worker's",
    "6.2 scaling": "a scale subresource on Worker.replicas",
    "6.2 fsdp elastic": "etcd at etcd:2379, 1 to 64, 100 restarts",
    "6.2 fsdp metrics": "an autoscaler at 90 % of the cores",
    "6.2 fsdp replicas": "workers alone, one for each node",
    "6.2 fsdp label": "app=fsdp",
    "6.2 fsdp shm": "the host's /dev/shm",
    "6.2 fsdp local": "the host's disks at /local",
    "6.2 fsdp command": "torchrun with --nproc_per_node and --nnodes",
    "6.2 command": "torchrun, then the script and its arguments",
    "6.2 container": "it is named pytorch, and runs the image that was built and pushed",
    "6.2 resources": "requests are limits: GPUs, and cards where there are any",
    "6.2 nodeSelector": "the instance type",
    "6.2 pull": "Always",
    "6.2 FI rule": "with recent libraries only FI_EFA_USE_HUGE_PAGE=0; never RDMAV_*",
    "6.2 fsdp variables": "instance type, nodes, GPUs and cards are filled in by hand",
    "6.2 fsdp token": "HF_TOKEN, in the manifest",
    "6.2 FI rule of old": (
        "before aws-ofi-nccl 1.7 FI_EFA_USE_DEVICE_RDMA, up to 1.5 FI_PROVIDER and NCCL_PROTO as"
        " well"
    ),
    "6.2 copies": "NCCL_SHM_USE_CUDA_MEMCPY on g5 and g6",
    "6.2 cards": "GPUs and cards of each instance type",
    "6.2 istio": "no sidecar",
    "6.2 grace": "600 s",
    "6.2 cpu replicas": "one Master, one Worker",
    "6.2 cpu rendezvous": "c10d at port 29500 of the master, 2 nodes with 2 processes each",
    "6.2 cpu node_rank": "0 for the master, 1 for the worker, by hand",
    "6.2 cpu service account": "the one whose role may write to the bucket, which the guide forgot",
    "6.2 stop the previous": (
        "a new run under an old name or rendezvous id meets what is left of it"
    ),
    **{
        f"6.2 env {name}": "set for the FSDP job, or for the CPU job"
        for name in (
            "LOGLEVEL",
            "TORCH_DISTRIBUTED_DEBUG",
            "TORCH_NCCL_ENABLE_MONITORING",
            "TORCH_NCCL_TRACE_BUFFER_SIZE",
            "TORCH_NCCL_DUMP_ON_TIMEOUT",
            "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
            "PYTORCH_CUDA_ALLOC_CONF",
            "NCCL_DEBUG",
            "NCCL_SOCKET_IFNAME",
            "TORCH_NCCL_ASYNC_ERROR_HANDLING",
            "FI_PROVIDER",
            "FI_EFA_USE_DEVICE_RDMA",
            "FI_EFA_FORK_SAFE",
            "FI_LOG_LEVEL",
            "FI_EFA_ENABLE_SHM_TRANSFER",
            "TORCH_DIST_INIT_BARRIER",
            "GLOO_SOCKET_IFNAME",
            "TP_SOCKET_IFNAME",
            "NCCL_SOCKET_TIMEOUT_MS",
        )
    },
    "6.3 kind": "batch.volcano.sh/v1alpha1 Job",
    "6.3 name": "NAME-RANDOM, of letters without vowels and digits",
    "6.3 namespace": "default, unless another is named",
    "6.3 schedulerName": "volcano",
    "6.3 queue": "must be named; the guide's is test",
    "6.3 maxRetry": "3",
    "6.3 plugins": "svc with --publish-not-ready-addresses, and env",
    "6.3 what plugins do": "a headless Service, host lists, a NetworkPolicy, task indexes",
    "6.3 network policy": (
        "only pods of the same job come through, unless the svc plugin is told otherwise"
    ),
    "6.3 tasks": "one for each replica, role1-0 and role1-1, with 3 retries each",
    "6.3 policies": "an evicted pod, and a failed one, restart the job",
    "6.3 minAvailable": "the sum of all tasks: a gang",
    "6.3 restartPolicy": "Never",
    "6.3 nodeSelector": "the instance type",
    "6.3 devices": "16 Neuron devices, and 8 cards on trn1 or 16 on trn1n",
    "6.3 no cores": "neither cores nor memory are asked for",
    "6.3 shm": "memory at /dev/shm, volume dshm",
    "6.3 claim": "fsx-claim at /data",
    "6.3 labels": (
        "torchx.pytorch.org/version, app-name, role-index, role-name, replica-id;"
        " app.kubernetes.io/name and instance"
    ),
    "6.3 managed-by": "torchx.pytorch.org",
    "6.3 rank 0's host": "TORCHX_RANK0_HOST on the first replica, host lists on the others",
    "6.3 command": (
        "etcd-server:2379, the job's id, 2 nodes, 32 processes, --tee 3; through a shell, which we"
        " do without"
    ),
    "6.3 role": "an empty --role",
    "6.3 precompile": "the whole command within neuron_parallel_compile",
    "6.3 service account": "where one is named",
    "6.3 priority class": "where one is named",
    "6.3 phases": "Pending to Completed or Failed",
    "6.3 cacheset": "letters, digits, - and _; one job at a time",
    **{
        f"6.3 env {name}": "set for Trainium"
        for name in (
            "CCOM_SOCKET_IFNAME",
            "FI_PROVIDER",
            "FI_EFA_USE_DEVICE_RDMA",
            "FI_EFA_FORK_SAFE",
            "NEURON_RT_RESET_CORES",
            "XLA_TRANSFER_SEED_ASYNC",
            "NEURON_CC_FLAGS",
            "TRANSFORMERS_CACHE",
            "XLA_DOWNCAST_BF16",
        )
    },
    "6.4 launcher": "deepspeed's own, on the first machine",
    "6.4 hostfile": "a line HOST slots=GPUS for each machine",
    "6.4 counts": "2 machines with 8 GPUs each, said once; 4 rows at a time",
    "6.4 SSH": "machines open each other without a password",
    "6.4 master port": "29500 on the first machine",
    "6.4 zero": "stage 1, buckets of 2e8, no offloading; a logarithmic warm-up; betas 0.9 and 0.95",
    **{
        f"7.1 {about}": "GPT-2 elastic"
        for about in (
            "replicas",
            "model",
            "bootstrap",
            "batch",
            "precision",
            "seed",
            "optimizer",
            "schedule",
            "data",
            "intervals",
            "TensorBoard",
            "distillation",
        )
    },
    **{
        f"7.2 {about}": "GPT-2 micro"
        for about in (
            "model",
            "batch",
            "precision",
            "seed",
            "optimizer",
            "data",
            "checkpoints",
            "logs",
        )
    },
    **{
        f"7.3 {about}": "Llama 2"
        for about in ("model", "vocabulary", "arguments", "job", "sharding", "data", "checkpoints")
    },
    **{
        f"7.4 {about}": "BERT-large"
        for about in ("batch", "precision", "defaults", "model", "optimizer", "data", "logs")
    },
    **{
        f"7.5 {about}": "the small network"
        for about in ("model", "device", "batch", "data", "optimizer", "evaluation", "logs")
    },
    "13.3 m5.large": "2 cores",
    "13.3 p5.48xlarge": "8 GPUs, 32 cards",
    "13.3 huge pages": "5120Mi of 2Mi pages where there are 32 cards",
}

# What is not a field of a job: which test shows it.
ELSEWHERE: dict[str, str] = {
    "6.1 names": (
        "tests/sandbox/kube/test_operators_replicas.py"
        "::test_an_elastic_jobs_containers_are_told_where_to_meet_before_their_own_arguments"
    ),
    "6.1 conditions": (
        "tests/launch/unit/cluster/test_why.py::test_an_operator_s_words_become_one_of_ours"
    ),
    "6.1 scaling": (
        "tests/launch/end_to_end/test_cluster.py::test_an_elastic_run_shrinks_and_grows_and_rank_0_is_found_again"
    ),
    "6.1 most": (
        "tests/launch/unit/cluster/test_sizing.py::test_an_elastic_run_may_not_grow_beyond_the_cluster"
    ),
    "6.1 uniqueness": (
        "tests/launch/unit/cluster/test_sizing.py::test_ids_are_unique_and_fit_every_name_that_is_made_of_them"
    ),
    "6.2 labels": (
        "tests/sandbox/kube/test_operators_replicas.py::test_a_job_with_a_master_gets_its_pods_names_and_environment"
    ),
    "6.2 states": (
        "tests/launch/unit/cluster/test_why.py::test_an_operator_s_words_become_one_of_ours"
    ),
    "6.2 waiting": (
        "tests/sandbox/kube/test_operators_training.py::test_a_master_and_its_worker_find_each_other_and_end_well"
    ),
    "6.2 success": "tests/sandbox/kube/test_operators_replicas.py::test_the_state_follows_the_pods",
    "6.2 scaling": (
        "tests/sandbox/kube/test_operators_training.py::test_workers_are_added_and_taken_away_by_scale"
    ),
    "6.2 fsdp variables": (
        "tests/launch/unit/cluster/test_sizing.py::test_gpus_and_cards_are_counted_from_the_nodes"
    ),
    "6.2 fsdp token": (
        "tests/launch/unit/cluster/test_rendering_all.py::test_secrets_are_read_from_a_secret_and_are_nowhere_else"
    ),
    "6.2 FI rule of old": (
        "tests/launch/unit/test_environment.py::test_a_plugin_up_to_1_5_is_told_everything"
    ),
    "6.2 copies": (
        "tests/launch/unit/test_environment.py::test_gpus_without_nvlink_copy_through_the_copy_engines"
    ),
    "6.2 cards": (
        "tests/launch/unit/cluster/test_sizing.py::test_gpus_and_cards_are_counted_from_the_nodes"
    ),
    "6.3 name": (
        "tests/launch/unit/cluster/test_sizing.py::test_ids_are_unique_and_fit_every_name_that_is_made_of_them"
    ),
    "6.3 what plugins do": (
        "tests/sandbox/kube/test_operators_volcano_jobs.py"
        "::test_plugins_tell_each_pod_its_number_and_all_their_names"
    ),
    "6.3 network policy": (
        "tests/sandbox/kube/test_operators_volcano_jobs.py::test_the_network_policy_can_be_done_without"
    ),
    "6.3 precompile": (
        "tests/launch/end_to_end/test_cluster_jobs.py"
        "::test_graphs_are_compiled_before_training_and_a_failed_one_stops_the_story"
    ),
    "6.3 phases": (
        "tests/launch/unit/cluster/test_why.py::test_an_operator_s_words_become_one_of_ours"
    ),
    "6.3 cacheset": (
        "tests/launch/end_to_end/test_cluster_jobs.py::test_a_cacheset_belongs_to_one_job_at_a_time"
    ),
}
