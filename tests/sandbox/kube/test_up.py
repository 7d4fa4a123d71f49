"""`invoke sandbox.up` alone sets the whole stage, a cluster that moves among it."""

from __future__ import annotations

from pathlib import Path

import urllib3
import yaml

from tests.support.kube.module_stage import Api
from tests.support.runner import invoke


def test_the_stage_has_a_cluster_unless_told_otherwise(tmp_path: Path) -> None:
    bare = invoke("sandbox.up", "--nodes", 1, "--no-kube", "--json", state=tmp_path)
    assert bare.code == 0 and "kube" not in bare.data, bare.text
    whole = invoke("sandbox.up", "--nodes", 1, "--json", state=tmp_path)
    try:
        assert whole.code == 0 and whole.data["kube"]["alive"], whole.text
        file = Path(whole.data["kube"]["kubeconfig"])
        assert yaml.safe_load(file.read_text())["clusters"][0]["cluster"]["server"].startswith(
            "https://127.0.0.1:"
        )
        assert Api(file).get("/api/v1/namespaces/kube-system")["metadata"]["name"] == "kube-system"
        assert (
            invoke("sandbox.up", "--nodes", 1, "--json", state=tmp_path).data["kube"]["pid"]
            == whole.data["kube"]["pid"]
        )
    finally:
        assert invoke("sandbox.down", state=tmp_path).code == 0
    server = whole.data["kube"]["server"]
    try:
        urllib3.PoolManager(cert_reqs="CERT_NONE", retries=False, timeout=5).request("GET", server)
    except urllib3.exceptions.NewConnectionError:
        return
    raise AssertionError(f"{server} still answers")
