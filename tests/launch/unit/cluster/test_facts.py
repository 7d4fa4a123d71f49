"""The jobs of the guides, field by field: everything that is rendered has a row with its fact, and
no fact is forgotten."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from playrunner.training.kube.job_spec.job import ClusterJob
from tests.launch.unit.cluster.facts import elastic_pytorchjob, elasticjob, job, pytorchjob, vcjob
from tests.launch.unit.cluster.facts.guides import JOBS
from tests.launch.unit.cluster.facts.known import ELSEWHERE, FACTS
from tests.launch.unit.cluster.facts.profiles import PROFILES
from tests.launch.unit.cluster.facts.table import Row, differences, fields
from tests.support.launch.rendering import rendered

ROOT = Path(__file__).parents[4]
Table = Callable[[ClusterJob], list[Row]]
TABLES: dict[str, Table] = {
    "elasticjob": elasticjob.rows,
    "elasticjob with etcd": elasticjob.with_etcd,
    "pytorchjob": pytorchjob.rows,
    "pytorchjob, elastic": elastic_pytorchjob.rows,
    "pytorchjob, elastic, with etcd": elastic_pytorchjob.with_etcd,
    "pytorchjob, elastic, on p5": elastic_pytorchjob.on_the_largest,
    "vcjob": vcjob.rows,
    "vcjob on trn1n": lambda made: vcjob.rows(made, "trn1n.32xlarge", "16"),
    "vcjob with everything said": vcjob.with_everything_said,
    "job": job.rows,
    "deepspeedjob": job.over_ssh,
}
TRAINED = {
    "gpt2-elastic": "elasticjob",
    "gpt2-micro": "job",
    "llama2-7b": "pytorchjob, elastic",
    "bert-large": "vcjob",
    "mnist-mlp": "pytorchjob",
}


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path_factory.getbasetemp() / "facts-state"))


@pytest.mark.parametrize("guide", JOBS)
def test_every_field_of_a_job_is_as_the_facts_have_it(guide: str) -> None:
    planned = JOBS[guide]()
    objects = rendered(planned)
    assert (
        differences(
            [thing for kind, thing in objects.items() if kind != "ConfigMap"],
            TABLES[guide](planned),
        )
        == []
    )


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_trained_is_what_the_guide_trains(profile: str) -> None:
    text = rendered(JOBS[TRAINED[profile]]())["ConfigMap"]["data"]["profile.yaml"]
    there = dict(fields(yaml.safe_load(text)))
    assert {path: there.get(path) for path, _, _ in PROFILES[profile]} == {
        path: value for path, value, _ in PROFILES[profile]
    }


def test_a_field_that_differs_is_missing_or_has_no_row_is_named() -> None:
    planned = JOBS["vcjob"]()
    thing: dict[str, Any] = rendered(planned)["Job"]
    thing["spec"]["queue"] = "other"
    del thing["spec"]["tasks"][1]["template"]["spec"]["nodeSelector"]
    thing["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["env"].append(
        {"name": "RANK", "value": "0"}
    )
    told = "\n".join(differences([thing], TABLES["vcjob"](planned)))
    assert 'Job.spec.queue is "other", and should be "test": 6.3 queue' in told
    assert (
        'role1-1.template.spec.nodeSelector.node.kubernetes.io/instance-type is "(not there)"'
        in told
    )
    assert (
        'role1-0.template.spec.containers.pytorch.env.RANK is "0", and no row speaks of it' in told
    )
    assert len(told.splitlines()) == 3


def test_no_fact_is_forgotten_and_none_is_made_up() -> None:
    every = [fact for guide, table in TABLES.items() for _, _, fact in table(JOBS[guide]())]
    every += [fact for table in PROFILES.values() for _, _, fact in table]
    named = {fact.partition(";")[0] for fact in every if not fact.startswith("ours:")}
    assert sorted(named - set(FACTS)) == [], "rows name facts that are not known"
    assert sorted(set(FACTS) - named - set(ELSEWHERE)) == [], (
        "no row and no other test speaks of these facts"
    )
    assert sorted(named & set(ELSEWHERE)) == [], "these have a row and need no other test"


@pytest.mark.parametrize("fact", ELSEWHERE)
def test_a_fact_that_is_no_field_is_shown_by_another_test(fact: str) -> None:
    file, _, name = ELSEWHERE[fact].partition("::")
    assert fact in FACTS and name in _tests_of(file), f"{file} has no {name}"


@cache
def _tests_of(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text())
    return frozenset(one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))
