"""Pods as processes of this machine: what they are given, how they end, and what people ask about
them."""

from __future__ import annotations

import base64
import shutil
import socket
import subprocess

import pytest

from playrunner.sandbox.kube.process import process
from tests.support.kube.moving import Cluster, Object
from tests.support.kube.pod_states import waiting
from tests.support.until import until

needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")


def _field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def test_a_container_has_the_environment_that_it_declares(either: Cluster) -> None:
    either.create("configmaps", "settings", data={"colour": "green", "size": "3"})
    either.create("secrets", "keys", data={"password": base64.b64encode(b"hush").decode()})
    env = [
        {"name": "PLAIN", "value": "one"},
        {"name": "BOTH", "value": "$(PLAIN) and $(NOBODY) and $$(PLAIN)"},
        _field("NAME", "metadata.name"),
        _field("IP", "status.podIP"),
        _field("NODE", "spec.nodeName"),
        _field("APP", "metadata.labels['app']"),
        {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "COLOUR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "colour"}}},
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "password"}}},
    ]
    container = {
        "env": env,
        "envFrom": [{"prefix": "MAP_", "configMapRef": {"name": "settings"}}],
        "args": ["$(PLAIN)"],
        "resources": {"limits": {"cpu": "1500m"}},
    }
    show = (
        'echo "$BOTH|$NAME|$APP|$CPUS|$COLOUR|$PASSWORD|$MAP_size|$0"; echo $IP; echo $NODE;'
        " hostname"
    )
    lines = either.said(
        "env", "sh", "-c", show, container=container, labels={"app": "demo"}
    ).splitlines()
    pod = either.get("pods", "env") or {}
    assert lines[0] == "one and $(NOBODY) and $(PLAIN)|env|demo|2|green|hush|3|one"
    assert lines[1:] == [pod["status"]["podIP"], pod["spec"]["nodeName"], "env"]
    assert lines[1].startswith("127.")


def test_volumes_are_where_the_container_expects_them(either: Cluster) -> None:
    either.create("configmaps", "code", data={"main.py": "print('from a map')", "other": "x"})
    either.create("secrets", "keys", data={"token": base64.b64encode(b"hush").decode()})
    volumes = [
        {
            "name": "code",
            "configMap": {"name": "code", "items": [{"key": "main.py", "path": "deep/main.py"}]},
        },
        {"name": "keys", "secret": {"secretName": "keys"}},
        {"name": "scratch", "emptyDir": {}},
        {"name": "host", "hostPath": {"path": "/var/lib/demo", "type": "DirectoryOrCreate"}},
        {
            "name": "about",
            "downwardAPI": {
                "items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]
            },
        },
        {
            "name": "all",
            "projected": {
                "sources": [{"configMap": {"name": "code"}}, {"secret": {"name": "keys"}}]
            },
        },
    ]
    paths = {
        "code": "/workspace/code",
        "keys": "/etc/keys",
        "scratch": "/scratch",
        "host": "/var/lib/demo",
        "about": "/about",
        "all": "/opt/all",
    }
    mounts = [{"name": name, "mountPath": path} for name, path in paths.items()]
    read = (
        "python /workspace/code/deep/main.py; cat /etc/keys/token; echo; cat /about/name; echo; ls"
        " /opt/all; cat /scratch/note"
    )
    first = {
        "name": "first",
        "image": "any",
        "command": ["sh", "-c", "echo before > /scratch/note"],
        "volumeMounts": mounts,
    }
    output = either.said(
        "volumes",
        "sh",
        "-c",
        read,
        container={"volumeMounts": mounts},
        volumes=volumes,
        initContainers=[first],
    )
    assert output.splitlines() == [
        "from a map",
        "hush",
        "volumes",
        "main.py",
        "other",
        "token",
        "before",
    ]


def test_a_config_map_that_changes_is_seen_by_pods_that_mount_it(cluster: Cluster) -> None:
    cluster.create("configmaps", "hosts", data={"list": "one"})
    volumes = [{"name": "v", "configMap": {"name": "hosts"}}]
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/etc/hosts.d"}]}
    cluster.pod(
        "looks",
        "sh",
        "-c",
        "until grep two /etc/hosts.d/list; do sleep 0.1; done",
        container=mount,
        volumes=volumes,
    )
    cluster.phase("looks", "Running")
    cluster.change("configmaps", "hosts", {"data": {"list": "two"}})
    cluster.phase("looks", "Succeeded")


def test_names_of_pods_and_services_are_found_inside_pods_and_others_are_not(
    either: Cluster,
) -> None:
    either.create(
        "services",
        "ring",
        spec={"clusterIP": "None", "selector": {"app": "ring"}, "publishNotReadyAddresses": True},
    )
    for number in range(2):
        either.pod(
            f"ring-{number}",
            "sleep",
            "100000",
            labels={"app": "ring"},
            hostname=f"ring-{number}",
            subdomain="ring",
        )
        either.phase(f"ring-{number}", "Running")
    addresses = [
        (either.get("pods", f"ring-{number}") or {})["status"]["podIP"] for number in range(2)
    ]
    until(
        lambda: sum(
            len(one.get("addresses") or ())
            for one in (either.get("endpoints", "ring") or {}).get("subsets") or ()
        ),
        lambda count: count == 2,
    )
    asked = [
        "ring-0.ring",
        f"ring-1.ring.{either.namespace}.svc.cluster.local",
        "friend",
        "nobody.ring",
        "nobody",
    ]
    look = (
        "import socket, sys\nfor name in sys.argv[1:]:\n  try: print(socket.gethostbyname(name))\n"
        "  except socket.gaierror as e: print(e.errno == socket.EAI_NONAME)"
    )
    aliases = [{"ip": "127.9.9.9", "hostnames": ["friend"]}]
    said = either.said("asks", "python", "-c", look, *asked, hostAliases=aliases).splitlines()
    assert said == [*addresses, "127.9.9.9", "True", "True"]


@needs_kubectl
def test_kubectl_follows_logs_runs_commands_and_forwards_ports(either: Cluster) -> None:
    serve = "echo one; python -m http.server 7001 --bind $IP & sleep 1; echo two; wait"
    either.pod("web", "sh", "-c", serve, container={"env": [_field("IP", "status.podIP")]})
    assert (
        either.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s").returncode == 0
    )
    done = either.kubectl(
        "exec", "-i", "web", "--", "sh", "-c", "cat; hostname; exit 5", input="typed\n"
    )
    assert (done.stdout, done.returncode) == ("typed\nweb\n", 5)
    until(lambda: either.log("web"), lambda text: text.endswith("two\n"))
    environment = {
        "KUBECONFIG": str(process.kubeconfig_file(either.root)),
        "PATH": "/usr/bin:/bin:/usr/local/bin",
    }
    command = ["kubectl", "-n", either.namespace, "port-forward", "pod/web", ":7001"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as forward:
        try:
            assert forward.stdout
            port = int(forward.stdout.readline().split()[2].rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
                client.sendall(b"GET / HTTP/1.0\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.0 200")
        finally:
            forward.terminate()
    either.pod("talks", "sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.2; done")
    either.phase("talks", "Running", "Succeeded")
    assert either.kubectl("logs", "-f", "talks").stdout == "1\n2\n3\n"


def test_the_log_of_a_pod_that_waits_says_so(cluster: Cluster) -> None:
    cluster.control("POST", "faults", {"kind": "container", "match": f"{cluster.namespace}/*"})
    cluster.pod("waits", "true")
    until(
        lambda: waiting(cluster, "waits").get("reason"),
        lambda reason: reason == "CreateContainerConfigError",
    )
    answer = cluster.api.call("GET", cluster.path("pods", "waits", "log"))
    assert (
        answer.code == 400
        and 'container "main" in pod "waits" is waiting to start' in answer.message
    )
    cluster.control("DELETE", "faults")
