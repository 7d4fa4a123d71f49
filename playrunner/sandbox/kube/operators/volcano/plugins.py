"""What a job's plugins add: `svc` gives its pods names and tells them each other's, `env` tells
each its number."""

from __future__ import annotations

from playrunner.sandbox.kube.controllers.framework.resources import Object, owned
from playrunner.sandbox.kube.operators.objects import add_variables, headless_service
from playrunner.sandbox.kube.operators.volcano.spec import Task, VolcanoJob

JOB_LABEL, NAMESPACE_LABEL = "volcano.sh/job-name", "volcano.sh/job-namespace"
HOSTS_FOLDER = "/etc/volcano"
_OFF = ("false", "0", "f")


def complete(job: VolcanoJob, task: Task, index: int, pod: Object) -> None:
    """In place: what the job's plugins do to each of its pods."""
    if "env" in job.plugins:
        add_variables(pod, {"VK_TASK_INDEX": index, "VC_TASK_INDEX": index})
    if "svc" not in job.plugins:
        return
    spec = pod["spec"]
    spec.setdefault("hostname", job.pod_name(task, index))
    spec.setdefault("subdomain", job.name)
    volume = hosts_name(job)
    spec["volumes"] = [
        *(spec.get("volumes") or ()),
        {"name": volume, "configMap": {"name": volume}},
    ]
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        mounts = container.get("volumeMounts") or ()
        container["volumeMounts"] = [*mounts, {"name": volume, "mountPath": HOSTS_FOLDER}]
    keys = [
        name for each in job.tasks for name in (_variable(each, "HOSTS"), _variable(each, "NUM"))
    ]
    add_variables(pod, {name: {"configMapKeyRef": {"name": volume, "key": name}} for name in keys})


def companions(job: VolcanoJob) -> list[Object]:
    """The service, config map and network policy that `svc` makes for the job."""
    if "svc" not in job.plugins:
        return []
    found = [_service(job), _hosts(job)]
    return found if _flag(job, "--disable-network-policy") else [*found, _network_policy(job)]


def hosts_name(job: VolcanoJob) -> str:
    return f"{job.name}-svc"


def _service(job: VolcanoJob) -> Object:
    ports = [
        {"name": "placeholder-volcano", "port": 1, "protocol": "TCP", "targetPort": 1}
    ]  # a service has to have one
    early = (
        {"publishNotReadyAddresses": True} if _flag(job, "--publish-not-ready-addresses") else {}
    )
    return headless_service(job.object, job.name, _selector(job), ports, **early)


def _hosts(job: VolcanoJob) -> Object:
    data: dict[str, str] = {}
    for task in job.tasks:
        template = task.template.get("spec") or {}
        domain = template.get("subdomain") or job.name
        hosts = [
            f"{template.get('hostname') or job.pod_name(task, index)}.{domain}"
            for index in range(task.replicas)
        ]
        data[f"{task.name}.host"] = "\n".join(hosts)
        data[_variable(task, "HOSTS")] = ",".join(hosts)
        data[_variable(task, "NUM")] = str(task.replicas)
    metadata = {
        "name": hosts_name(job),
        "namespace": job.namespace,
        "ownerReferences": owned(job.object),
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _network_policy(job: VolcanoJob) -> Object:
    """Only pods of the job itself may call its pods. The sandbox's network does not keep anyone
    out."""
    chosen = {"matchLabels": _selector(job)}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {
            "name": job.name,
            "namespace": job.namespace,
            "ownerReferences": owned(job.object),
        },
        "spec": {
            "podSelector": chosen,
            "ingress": [{"from": [{"podSelector": chosen}]}],
            "policyTypes": ["Ingress"],
        },
    }


def _selector(job: VolcanoJob) -> dict[str, str]:
    return {JOB_LABEL: job.name, NAMESPACE_LABEL: job.namespace}


def _variable(task: Task, what: str) -> str:
    return f"VC_{task.name.upper().replace('-', '_')}_{what}"


def _flag(job: VolcanoJob, name: str) -> bool:
    for word in job.plugins["svc"]:
        key, _, value = word.partition("=")
        if key == name:
            return value.lower() not in _OFF
    return False
