"""k8s.holdings: load balancers and disks are let go before their cluster."""

from __future__ import annotations

from tests.support.kube.module_stage import KubeStage

STEP = [{"name": "holdings", "k8s.holdings": {}}]


def test_load_balancers_and_claims_go_and_everything_else_stays(stage: KubeStage) -> None:
    assert stage.play(STEP).statuses["holdings"] == "ok", "nothing is made on the way in"
    home = f"/api/v1/namespaces/{stage.namespace}"
    for name, kind in (("web", "LoadBalancer"), ("inner", "ClusterIP")):
        stage.api.call(
            "POST",
            f"{home}/services",
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": name},
                "spec": {"type": kind, "ports": [{"port": 80}], "selector": {"app": name}},
            },
        )
    assert stage.play(STEP).statuses["holdings"] == "ok"
    removed = stage.delete(STEP)
    assert removed.code == 0, removed.text
    assert stage.api.get(f"{home}/services/web") is None
    assert stage.api.get(f"{home}/services/inner") is not None
    assert not stage.delete(STEP).gone
