"""Users with few rights: what they may not see is said and done without where nothing changes."""

from __future__ import annotations

from playrunner.training.kube.rights_command import given
from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.service_account import as_account, forget_account

NOT_SEEN = "objects, without secrets, which you may not see"


def test_a_role_is_shown_without_what_the_user_may_not_see_but_not_deleted(
    stage: AddonStage,
) -> None:
    assert stage.create("kubeflow", kubeflow_proof=False).code == 0
    objects = given("audit", "default", f"default:{stage.own}")
    auditor = as_account(stage.api, stage.folder, stage.own, objects)
    stage.variables["kubeconfig"] = str(auditor)
    try:
        shown = stage.invoke("kubeflow.status")
        assert shown.code == 0 and NOT_SEEN in shown.text, shown.text
        refused = stage.invoke("kubeflow.delete", "--yes")
        assert refused.code == 2 and 'cannot list resource "secrets"' in refused.text
        assert stage.object("apps/v1", "deployments", "training-operator", "kubeflow")
    finally:
        stage.variables["kubeconfig"] = str(stage.api.kubeconfig)
        forget_account(stage.api, stage.own, objects)
