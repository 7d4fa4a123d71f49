"""What each add-on role brings, as the guides' own manifests have it: paths of kubectl's jsonpath
and the words that must be there."""

from __future__ import annotations

TOLERATES = "{.spec.template.spec.tolerations[*].key}"
IMAGES = "{.spec.template.spec.containers[*].image}"
PRIORITY = "{.spec.template.spec.priorityClassName}"
FACTS: dict[str, dict[str, str]] = {
    "daemonset/nvidia-device-plugin-daemonset -n kube-system": {
        IMAGES: "nvcr.io/nvidia/k8s-device-plugin:v0.17.1",
        TOLERATES: "CriticalAddonsOnly nvidia.com/gpu",
        PRIORITY: "system-node-critical",
        "{.spec.template.spec.containers[0].securityContext.capabilities.drop[*]}": "ALL",
    },
    "daemonset/neuron-device-plugin-daemonset -n kube-system": {
        IMAGES: "public.ecr.aws/neuron/neuron-device-plugin:2.29.16.0",
        TOLERATES: "CriticalAddonsOnly aws.amazon.com/neuron",
        "{.spec.template.spec.serviceAccountName}": "neuron-device-plugin",
    },
    "daemonset/aws-efa-k8s-device-plugin-daemonset -n kube-system": {
        TOLERATES: "CriticalAddonsOnly aws.amazon.com/efa",
        "{.spec.template.spec.hostNetwork}": "true",
    },
    "daemonset/nvidia-driver-installer -n kube-system": {
        "{.spec.template.spec.hostPID}": "true",
        "{.spec.template.spec.initContainers[0].securityContext.privileged}": "true",
    },
    "clusterrole/neuron-device-plugin": {},
    "clusterrolebinding/neuron-device-plugin": {},
    "csidriver/efs.csi.aws.com": {"{.spec.attachRequired}": "false"},
    "csidriver/fsx.csi.aws.com": {
        "{.spec.attachRequired}": "false",
        "{.spec.volumeLifecycleModes[*]}": "Persistent",
    },
    "daemonset/efs-csi-node -n kube-system": {
        "{.spec.template.spec.containers[0].securityContext.privileged}": "true"
    },
    "daemonset/fsx-csi-node -n kube-system": {
        "{.spec.template.spec.containers[0].securityContext.privileged}": "true"
    },
    "deployment/efs-csi-controller -n kube-system": {
        PRIORITY: "system-cluster-critical",
        "{.status.availableReplicas}": "2",
    },
    "deployment/fsx-csi-controller -n kube-system": {
        PRIORITY: "system-cluster-critical",
        "{.status.availableReplicas}": "2",
    },
    "storageclass/efs-sc": {"{.provisioner}": "efs.csi.aws.com", "{.reclaimPolicy}": "Delete"},
    "storageclass/fsx-sc": {"{.provisioner}": "fsx.csi.aws.com", "{.mountOptions[*]}": "flock"},
    "pvc/efs-claim -n default": {
        "{.status.phase}": "Bound",
        "{.spec.accessModes[*]}": "ReadWriteMany",
    },
    "pvc/fsx-claim -n default": {
        "{.status.phase}": "Bound",
        "{.spec.accessModes[*]}": "ReadWriteMany",
    },
    "deployment/volcano-admission -n volcano-system": {
        IMAGES: "volcanosh/vc-webhook-manager:v1.15.1"
    },
    "deployment/volcano-controllers -n volcano-system": {
        IMAGES: "volcanosh/vc-controller-manager:v1.15.1"
    },
    "deployment/volcano-scheduler -n volcano-system": {IMAGES: "volcanosh/vc-scheduler:v1.15.1"},
    "job/volcano-admission-init-78dcb91e -n volcano-system": {"{.status.succeeded}": "1"},
    "queue.scheduling.volcano.sh/test": {"{.spec.weight}": "1", "{.spec.reclaimable}": "false"},
    "crd/jobs.batch.volcano.sh": {},
    "crd/podgroups.scheduling.volcano.sh": {},
    "crd/commands.bus.volcano.sh": {},
    "deployment/training-operator -n kubeflow": {
        IMAGES: "ghcr.io/kubeflow/training-v1/training-operator:v1-93c5489"
    },
    "crd/pytorchjobs.kubeflow.org": {"{.spec.versions[0].name}": "v1"},
    "crd/mpijobs.kubeflow.org": {},
    "deployment/elastic-job-k8s-controller -n elastic-job": {
        IMAGES: "torchelastic/kubernetes:0.1.0"
    },
    "crd/elasticjobs.elastic.pytorch.org": {"{.spec.versions[0].subresources}": ""},
    "deployment/jobset-controller-manager -n jobset-system": {
        IMAGES: "registry.k8s.io/jobset/jobset:v0.12.0"
    },
    "crd/jobsets.jobset.x-k8s.io": {"{.spec.versions[0].name}": "v1alpha2"},
    "deployment/kubeflow-trainer-controller-manager -n kubeflow-system": {
        IMAGES: "ghcr.io/kubeflow/trainer/trainer-controller-manager:v2.3.0"
    },
    "crd/trainjobs.trainer.kubeflow.org": {"{.spec.versions[0].name}": "v1alpha1"},
    "deployment/kueue-controller-manager -n kueue-system": {
        IMAGES: "registry.k8s.io/kueue/kueue:v0.19.2"
    },
    "clusterqueue.kueue.x-k8s.io/training": {"{.spec.queueingStrategy}": "BestEffortFIFO"},
    "localqueue.kueue.x-k8s.io/training -n default": {"{.spec.clusterQueue}": "training"},
}
