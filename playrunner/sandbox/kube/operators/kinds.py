"""The custom kinds of the operators, and where the API serves them."""

from __future__ import annotations

from playrunner.sandbox.kube.controllers.framework.resources import Resource

PYTORCH_JOBS = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob", custom=True)
ELASTIC_JOBS = Resource("elastic.pytorch.org", "v1alpha1", "elasticjobs", "ElasticJob", custom=True)
VOLCANO_JOBS = Resource("batch.volcano.sh", "v1alpha1", "jobs", "Job", custom=True)
POD_GROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup", custom=True)
QUEUES = Resource(
    "scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False, custom=True
)
COMMANDS = Resource("bus.volcano.sh", "v1alpha1", "commands", "Command", custom=True)
JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", custom=True)
TRAIN_JOBS = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob", custom=True)
RUNTIMES = Resource(
    "trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "TrainingRuntime", custom=True
)
CLUSTER_RUNTIMES = Resource(
    "trainer.kubeflow.org",
    "v1alpha1",
    "clustertrainingruntimes",
    "ClusterTrainingRuntime",
    namespaced=False,
    custom=True,
)
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads", "Workload", custom=True)
LOCAL_QUEUES = Resource("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue", custom=True)
CLUSTER_QUEUES = Resource(
    "kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False, custom=True
)
AUTOSCALERS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
MUTATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
VALIDATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
