"""k8s.manifest: a set is made, kept, mended, pruned and taken away."""

from __future__ import annotations

import base64
from typing import Any

from playrunner.kube.objects.compare import shown
from tests.support.kube.module_stage import KubeStage


def config(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def step(stage: KubeStage, *objects: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "set",
        "k8s.manifest": {
            "name": "things",
            "namespace": stage.namespace,
            "record": stage.namespace,
            "timeout": 10,
            "definition": list(objects),
            **more,
        },
    }


def path(stage: KubeStage, name: str, plural: str = "configmaps") -> str:
    return f"/api/v1/namespaces/{stage.namespace}/{plural}/{name}"


def test_a_set_is_foreseen_made_and_then_left_alone(stage: KubeStage) -> None:
    steps = [step(stage, config("one", a="1"), config("two", b="2"))]
    foreseen, asked = stage.counted(steps, check=True)
    assert foreseen.statuses["set"] == "changed", foreseen.messages
    assert not [method for method, _ in asked if method in ("PATCH", "POST", "DELETE")]
    made = stage.play(steps)
    assert made.code == 0 and made.statuses["set"] == "changed", made.messages
    found = stage.api.get(path(stage, "one"))
    assert found["data"] == {"a": "1"}
    assert found["metadata"]["labels"] == {
        "playrunner.io/cluster": stage.own,
        "playrunner.io/set": "things",
    }
    assert found["metadata"]["annotations"]["playrunner.io/run"]
    again, asked = stage.counted(steps)
    assert again.code == 0 and again.statuses["set"] == "ok", again.values
    assert {method for method, _ in asked} == {"GET"} and len(asked) <= 4, asked


def test_a_check_shows_the_whole_object_in_its_difference(stage: KubeStage) -> None:
    foreseen = stage.play([step(stage, config("one", a="text"))], check=True, diff=True)
    assert foreseen.code == 0 and foreseen.statuses["set"] == "changed", foreseen.messages
    assert "a: text" in foreseen.values["set"]["diff"]["after"][f"ConfigMap {stage.namespace}/one"]


def test_a_difference_is_mended_and_a_field_taken_out_goes(stage: KubeStage) -> None:
    assert stage.play([step(stage, config("one", a="1", b="2"))]).code == 0
    mended = stage.play([step(stage, config("one", a="3"))])
    assert mended.statuses["set"] == "changed", mended.messages
    assert stage.api.get(path(stage, "one"))["data"] == {"a": "3"}
    assert stage.play([step(stage, config("one", a="3"))]).statuses["set"] == "ok"


def test_what_is_not_declared_any_more_goes_also_when_its_kind_is_not(stage: KubeStage) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "worker"}}
    assert stage.play([step(stage, config("one", a="1"), config("two", a="1"), account)]).code == 0
    pruned = stage.play([step(stage, config("two", a="1"))])
    assert pruned.code == 0 and pruned.statuses["set"] == "changed", pruned.messages
    assert stage.api.get(path(stage, "one")) is None
    assert stage.api.get(path(stage, "worker", "serviceaccounts")) is None
    assert stage.api.get(path(stage, "two"))
    assert stage.play([step(stage, config("two", a="1"))]).statuses["set"] == "ok"


def test_a_set_goes_whole_and_without_its_template(stage: KubeStage) -> None:
    before = stage.api.get(f"/api/v1/namespaces/{stage.namespace}/configmaps")["items"]
    assert stage.play([step(stage, config("one", a="1"), config("two", b="2"))]).code == 0
    lost = {
        "name": "set",
        "k8s.manifest": {
            "name": "things",
            "record": stage.namespace,
            "definition": "{{ not_there }}",
        },
    }
    removed = stage.delete([lost])
    assert removed.code == 0 and removed.gone["set"].status == "changed", removed.text
    after = stage.api.get(f"/api/v1/namespaces/{stage.namespace}/configmaps")["items"]
    assert [one["metadata"]["name"] for one in after] == [one["metadata"]["name"] for one in before]
    assert not stage.delete([lost]).gone


def test_what_another_made_is_refused_left_or_adopted(stage: KubeStage) -> None:
    stage.api.call(
        "POST", f"/api/v1/namespaces/{stage.namespace}/configmaps", config("one", a="theirs")
    )
    refused = stage.play([step(stage, config("one", a="1"), config("two", b="2"))])
    assert refused.code == 2 and "is not labelled playrunner.io/cluster=" in refused.messages, (
        refused.messages
    )
    assert stage.api.get(path(stage, "two")) is None, "nothing is applied when something is refused"
    left = stage.play([step(stage, config("one", a="1"), leave=["ConfigMap"])])
    assert left.code == 0 and stage.api.get(path(stage, "one"))["data"] == {"a": "theirs"}, (
        left.messages
    )
    adopted = stage.play([step(stage, config("one", a="1"), adopt=True, force=True)])
    assert adopted.code == 0 and stage.api.get(path(stage, "one"))["data"] == {"a": "1"}, (
        adopted.messages
    )
    assert stage.play([step(stage, config("one", a="1"))]).statuses["set"] == "ok"


def test_a_field_that_another_took_over_is_named_with_its_owner(stage: KubeStage) -> None:
    assert stage.play([step(stage, config("one", a="1"))]).code == 0
    stage.api.merge(path(stage, "one"), {"data": {"a": "theirs"}}, manager="their-tool")
    refused = stage.play([step(stage, config("one", a="1"))])
    assert refused.code == 2 and '"their-tool" owns .data.a' in refused.messages, refused.messages
    assert "force: true" in refused.messages
    forced = stage.play([step(stage, config("one", a="1"), force=True)])
    assert forced.code == 0 and stage.api.get(path(stage, "one"))["data"] == {"a": "1"}, (
        forced.messages
    )


def test_every_conflict_of_a_set_is_told_at_once(stage: KubeStage) -> None:
    set_of_two = step(stage, config("one", a="1"), config("two", b="2"))
    assert stage.play([set_of_two]).code == 0
    stage.api.merge(path(stage, "one"), {"data": {"a": "theirs"}}, manager="their-tool")
    stage.api.merge(path(stage, "two"), {"data": {"b": "theirs"}}, manager="another-tool")
    refused = stage.play([set_of_two])
    assert refused.code == 2 and '"their-tool" owns .data.a' in refused.messages, refused.messages
    assert '"another-tool" owns .data.b' in refused.messages, refused.messages


def test_bytes_are_shown_by_their_number_and_a_change_of_them_still_shows() -> None:
    def text(data: bytes) -> str:
        binary = {"code.tar": base64.b64encode(data).decode()}
        return shown({"kind": "ConfigMap", "metadata": {"name": "x"}, "binaryData": binary}, True)

    before, after = text(b"a" * 3000), text(b"b" * 3000)
    assert "3000 bytes" in before and len(before) < 200
    assert before != after


def test_values_in_other_words_are_no_difference(stage: KubeStage) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"requests.cpu": "1000m", "pods": "10"}},
    }
    assert stage.play([step(stage, quota)]).code == 0
    again, asked = stage.counted([step(stage, quota)])
    assert again.statuses["set"] == "ok", again.values
    assert [method for method, _ in asked if method != "GET"] == ["PATCH dry"]


def test_a_diff_shows_the_lines_and_never_a_secret(stage: KubeStage) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"key": "hunter2"},
    }
    assert stage.play([step(stage, config("one", a="1"), secret)]).code == 0
    other = {**secret, "stringData": {"key": "other3"}}
    shown = stage.play([step(stage, config("one", a="2"), other)], check=True, diff=True)
    assert "a: '1'" in shown.values["set"]["diff"]["before"][f"ConfigMap {stage.namespace}/one"]
    assert "a: '2'" in shown.values["set"]["diff"]["after"][f"ConfigMap {stage.namespace}/one"]
    assert (
        shown.values["set"]["diff"]["after"][f"Secret {stage.namespace}/s"]
        != shown.values["set"]["diff"]["before"][f"Secret {stage.namespace}/s"]
    )
    for word in ("hunter2", "other3", "aHVudGVyMg", "b3RoZXIz"):
        assert word not in shown.text
    assert stage.play([step(stage, config("one", a="1"), secret)]).statuses["set"] == "ok"


def test_what_stands_on_a_cluster_that_is_gone_is_gone_too(stage: KubeStage) -> None:
    base = {
        "name": "cluster",
        "k8s.manifest": {
            "name": "base",
            "record": stage.namespace,
            "namespace": stage.namespace,
            "definition": config("base"),
        },
        "register": "base",
    }
    above = step(stage, config("one"), after="{{ base }}")
    assert stage.play([base, above]).code == 0
    assert sorted(stage.delete([base, above]).gone) == ["cluster", "set"]
    nowhere = {**above, "vars": {"kubeconfig": str(stage.folder / "missing")}}
    assert stage.delete([base, nowhere]).code == 0
