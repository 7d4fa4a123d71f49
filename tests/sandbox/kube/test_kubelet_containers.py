"""Containers of a pod: how they start, wait, fail, start again and end."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.kube.process import process
from playrunner.sandbox.state import command_of
from tests.support.kube.moving import Cluster
from tests.support.kube.pod_states import state, waiting
from tests.support.until import until


def test_init_containers_come_first_and_one_that_fails_ends_the_pod(cluster: Cluster) -> None:
    failing = {"name": "first", "image": "any", "command": ["sh", "-c", "exit 7"]}
    cluster.pod("never", "echo", "reached", initContainers=[failing])
    ended = cluster.phase("never", "Failed")
    assert ended["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 7
    assert "terminated" not in state(cluster, "never")["state"]


def test_a_container_that_fails_is_started_again_and_its_last_words_are_kept(
    either: Cluster,
) -> None:
    either.pod("crashes", "sh", "-c", "echo dying; exit 3", restartPolicy="OnFailure")
    until(
        lambda: waiting(either, "crashes").get("reason"),
        lambda reason: reason == "CrashLoopBackOff",
    )
    again = until(lambda: state(either, "crashes"), lambda one: one["restartCount"] >= 2)
    assert again["lastState"]["terminated"]["exitCode"] == 3
    assert either.log("crashes", previous="true") == "dying\n"
    assert "BackOff" in until(lambda: either.reasons("crashes"), lambda told: "BackOff" in told)


def test_an_image_that_cannot_be_pulled_holds_the_pod_up_until_it_can(either: Cluster) -> None:
    image = f"registry/{either.namespace}:1"
    either.control(
        "POST", "faults", {"kind": "image", "match": image, "message": "manifest unknown"}
    )
    either.pod("pulls", "true", container={"image": image})
    until(
        lambda: waiting(either, "pulls"),
        lambda one: one == {"reason": "ImagePullBackOff", "message": "manifest unknown"},
    )
    either.control("DELETE", "faults")
    either.phase("pulls", "Succeeded")


def test_an_injected_fault_may_hit_the_first_pods_only(cluster: Cluster) -> None:
    match = f"{cluster.namespace}/*"
    cluster.control("POST", "faults", {"kind": "container", "match": match, "times": 1})
    cluster.pod("one", "true")
    until(
        lambda: waiting(cluster, "one").get("reason"),
        lambda reason: reason == "CreateContainerConfigError",
    )
    cluster.pod("two", "true")
    cluster.phase("two", "Succeeded")
    assert waiting(cluster, "one").get("reason") == "CreateContainerConfigError"
    cluster.control("DELETE", "faults")


def test_a_missing_config_map_is_named_and_the_pod_goes_on_when_it_comes(cluster: Cluster) -> None:
    env = [{"name": "COLOUR", "valueFrom": {"configMapKeyRef": {"name": "late", "key": "colour"}}}]
    cluster.pod("waits", "sh", "-c", "echo $COLOUR", container={"env": env})
    stuck = until(
        lambda: waiting(cluster, "waits"),
        lambda one: one.get("reason") == "CreateContainerConfigError",
    )
    assert stuck["message"] == 'configmap "late" not found'
    cluster.create("configmaps", "late", data={"colour": "blue"})
    cluster.phase("waits", "Succeeded")
    assert cluster.log("waits") == "blue\n"


def test_a_container_that_takes_too_much_memory_and_a_pod_that_is_evicted(cluster: Cluster) -> None:
    cluster.pod("fat", "sleep", "100000")
    cluster.phase("fat", "Running")
    cluster.control("POST", f"pods/{cluster.namespace}/fat/oom", {})
    ended = cluster.phase("fat", "Failed")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)
    cluster.pod("pushed", "sleep", "100000")
    cluster.phase("pushed", "Running")
    cluster.control("POST", f"pods/{cluster.namespace}/pushed/evict", {"message": "low on memory"})
    status = cluster.phase("pushed", "Failed")["status"]
    assert (status["reason"], status["message"]) == ("Evicted", "low on memory")


def test_a_pod_that_is_deleted_may_end_by_itself_first(either: Cluster) -> None:
    volumes: dict[str, Any] = {
        "volumes": [{"name": "v", "hostPath": {"path": f"/leaving/{either.namespace}"}}]
    }
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/out"}]}
    either.pod(
        "polite",
        "sh",
        "-c",
        "trap 'echo bye > /out/said; exit 0' TERM; echo up; sleep 100000 & wait",
        container=mount,
        terminationGracePeriodSeconds=30,
        **volumes,
    )
    either.phase("polite", "Running")
    until(lambda: either.log("polite"), lambda text: text == "up\n")
    node = (either.get("pods", "polite") or {})["spec"]["nodeName"]
    either.delete("pods", "polite")
    until(lambda: either.get("pods", "polite"), lambda pod: pod is None)
    place = process.folder(either.root) / "machines" / node / "leaving" / either.namespace / "said"
    assert place.read_text() == "bye\n"


def test_what_a_container_leaves_behind_ends_with_it(cluster: Cluster) -> None:
    start = (
        "import subprocess; print(subprocess.Popen(['sleep', '100000'],"
        " start_new_session=True).pid, flush=True)"
    )
    pid = int(cluster.said("leaves", "python", "-c", start))
    assert command_of(pid) == ""


def test_probes_decide_when_a_container_is_ready_and_when_it_is_started_again(
    cluster: Cluster,
) -> None:
    ask = {"exec": {"command": ["test", "-e", "/signs/ready"]}, "periodSeconds": 1}
    alive = {
        "exec": {"command": ["test", "!", "-e", "/signs/stuck"]},
        "periodSeconds": 1,
        "failureThreshold": 1,
    }
    mount = {
        "volumeMounts": [{"name": "v", "mountPath": "/signs"}],
        "readinessProbe": ask,
        "livenessProbe": alive,
    }
    cluster.pod(
        "asked",
        "sh",
        "-c",
        "rm -f /signs/stuck; sleep 100000",
        container=mount,
        restartPolicy="Always",
        volumes=[{"name": "v", "emptyDir": {}}],
    )
    cluster.phase("asked", "Running")
    assert state(cluster, "asked")["ready"] is False
    assert cluster.kubectl("exec", "asked", "--", "touch", "/signs/ready").returncode == 0
    until(lambda: state(cluster, "asked")["ready"], bool)
    assert cluster.kubectl("exec", "asked", "--", "touch", "/signs/stuck").returncode == 0
    until(lambda: state(cluster, "asked")["restartCount"], lambda count: count >= 1)
