"""Any text as a kubeconfig, up to the point where a server would be called."""

from __future__ import annotations

from playrunner.errors import PlayrunnerError
from playrunner.kube.client.config import KubeSettings, access
from playrunner.kube.client.transport import Transport
from tests.support.fuzz.surface import as_bytes, fuzzed, scratch

SEEDS = [
    """
apiVersion: v1
kind: Config
current-context: one
clusters:
  - name: c
    cluster:
      server: 'https://127.0.0.1:6443'
      insecure-skip-tls-verify: true
      proxy-url: ''
      tls-server-name: x
  - {name: d, cluster: {server: 'http://127.0.0.1:8080/base', certificate-authority-data: ''}}
users:
  - {name: u, user: {token: abc}}
  - {name: v, user: {username: a, password: b}}
  - name: w
    user:
      exec:
        apiVersion: client.authentication.k8s.io/v1
        command: 'true'
        args: [a]
        env: [{name: A, value: b}]
contexts:
  - {name: one, context: {cluster: c, user: u, namespace: default}}
  - {name: two, context: {cluster: d, user: v}}
  - {name: three, context: {cluster: d, user: w}}
"""
]
SEEDS += [
    SEEDS[0].replace("current-context: one", f"current-context: {name}")
    for name in ("two", "three")
]


@fuzzed("kubeconfigs", SEEDS, (PlayrunnerError,))
def test_any_kubeconfig_is_read_or_refused(text: str) -> None:
    file = scratch("kubeconfig")
    file.write_bytes(as_bytes(text))
    Transport(access(KubeSettings(str(file))))
