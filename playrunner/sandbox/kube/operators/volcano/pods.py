"""The pods of a Volcano job, and the group they are placed with."""

from __future__ import annotations

from playrunner.sandbox.kube.controllers.framework.resources import Object, annotations_of
from playrunner.sandbox.kube.operators.objects import pod_from
from playrunner.sandbox.kube.operators.pod_group import GROUP_NAME, SCHEDULER_NAME, pod_group
from playrunner.sandbox.kube.operators.volcano import plugins
from playrunner.sandbox.kube.operators.volcano.spec import Task, VolcanoJob

TASK, INDEX, QUEUE = "volcano.sh/task-spec", "volcano.sh/task-index", "volcano.sh/queue-name"
VERSION, RETRIES = "volcano.sh/job-version", "volcano.sh/job-retry-count"


def pod_of(job: VolcanoJob, task: Task, index: int) -> Object:
    known = {plugins.JOB_LABEL: job.name, TASK: task.name, QUEUE: job.queue, INDEX: str(index)}
    labels = {**known, plugins.NAMESPACE_LABEL: job.namespace}
    annotations = {
        **known,
        GROUP_NAME: job.group,
        VERSION: str(job.version),
        RETRIES: str(job.retries),
    }
    annotations["volcano.sh/template-uid"] = f"{job.name}-{task.name}"
    pod = pod_from(task.template, job.object, job.pod_name(task, index), labels, annotations)
    pod["spec"].setdefault(
        "schedulerName", job.object["spec"].get("schedulerName") or SCHEDULER_NAME
    )
    _mount_volumes(job, pod)
    plugins.complete(job, task, index, pod)
    return pod


def group_of(job: VolcanoJob) -> Object:
    pods = [pod_of(job, task, index) for task in job.tasks for index in range(task.replicas)]
    priority = job.object["spec"].get("priorityClassName")
    members = {task.name: task.least for task in job.tasks}
    return pod_group(
        job.object,
        job.group,
        job.least,
        pods,
        queue=job.queue,
        priorityClassName=priority,
        minTaskMember=members,
    )


def task_of(pod: Object) -> str:
    return annotations_of(pod).get(TASK, "")


def index_of(pod: Object) -> int:
    return int(pod["metadata"]["name"].rpartition("-")[2])


def version_of(pod: Object) -> int:
    return int(annotations_of(pod).get(VERSION) or 0)


def _mount_volumes(job: VolcanoJob, pod: Object) -> None:
    """Claims that the job names, in every container."""
    for number, volume in enumerate(job.object["spec"].get("volumes") or ()):
        if not volume.get("volumeClaimName"):
            continue
        name = f"{job.name}-volume-{number}"
        claim = {"name": name, "persistentVolumeClaim": {"claimName": volume["volumeClaimName"]}}
        pod["spec"]["volumes"] = [*(pod["spec"].get("volumes") or ()), claim]
        for container in pod["spec"].get("containers") or ():
            mounts = container.get("volumeMounts") or ()
            container["volumeMounts"] = [*mounts, {"name": name, "mountPath": volume["mountPath"]}]
