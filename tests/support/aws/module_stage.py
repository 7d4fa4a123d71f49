"""A stage for tests of cloud modules: the real runner plays steps against the pretend AWS."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from playrunner.lifecycle.delete import Deletion, removable, remove
from playrunner.options import Options
from playrunner.playbook import load_playbook
from playrunner.run.run import run_plays
from playrunner.run.survey import Survey
from tests.support.aws.sandbox import PretendAws

CLUSTER = "demo"


@dataclass(frozen=True)
class Run:
    """What a play came to."""

    code: int
    results: list[dict[str, Any]]
    text: str = ""
    gone: dict[str, Deletion] = field(default_factory=dict)

    @property
    def statuses(self) -> dict[str, str]:
        return {result["step"]: result["status"] for result in self.results}

    @property
    def values(self) -> dict[str, dict[str, Any]]:
        return {result["step"]: result["values"] for result in self.results}

    @property
    def changed(self) -> list[str]:
        return [result["step"] for result in self.results if result["status"] == "changed"]

    @property
    def messages(self) -> str:
        return "\n".join(str(result["values"].get("msg", "")) for result in self.results)


class AwsStage:
    """Plays steps on localhost, in this process."""

    def __init__(self, aws: PretendAws, folder: Path) -> None:
        self.aws, self.folder = aws, folder
        self.variables: dict[str, Any] = {
            "cluster_name": CLUSTER,
            "aws_region": aws.up.region,
            "aws_endpoint_url": aws.up.endpoint_url,
            "aws_profile": "sandbox",
            "aws_credentials_file": str(aws.root / "aws-credentials"),
        }

    def play(self, steps: Sequence[dict[str, Any]], check: bool = False, **variables: Any) -> Run:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = run_plays(
                self._plays(steps),
                Options((self._inventory(variables),), check=check, json=True),
                "test",
            )
        document = json.loads(out.getvalue())
        return Run(code, document["results"], out.getvalue())

    def delete(
        self, steps: Sequence[dict[str, Any]], with_kept: bool = True, **variables: Any
    ) -> Run:
        survey, gone = Survey(), list[Deletion]()

        def go(shared: Any) -> int:
            gone.extend(remove(survey, removable(survey, with_kept=with_kept), lambda one: None))
            return 2 if any(one.status == "failed" for one in gone) else 0

        options = Options((self._inventory(variables),), quiet=True)
        code = run_plays(self._plays(steps), options, "test delete", survey=survey, then=go)
        return Run(
            code,
            [],
            "\n".join(f"{one.resource.title}: {one.status} {one.reason}" for one in gone),
            {one.resource.title: one for one in gone},
        )

    def _plays(self, steps: Sequence[dict[str, Any]]) -> Any:
        file = self.folder / "steps.yaml"
        file.write_text(
            yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": list(steps)}])
        )
        return load_playbook(file)

    def _inventory(self, variables: dict[str, Any]) -> str:
        file = self.folder / "inventory.yaml"
        file.write_text(yaml.safe_dump({"all": {"vars": {**self.variables, **variables}}}))
        return str(file)


def keeps_its_promise(
    stage: AwsStage,
    one: dict[str, Any],
    other: dict[str, Any] | None = None,
    before: Sequence[dict[str, Any]] = (),
    foreign: Any = None,
) -> None:
    """Look, make, be quiet, mend, take away: what every cloud module promises.

    `one` and `other` are steps (with a name) for the same thing; `foreign` makes a thing of that
    name without our mark.
    """
    name = one["name"]
    if before:
        assert stage.play(before).code == 0
    mark = len(stage.aws.calls())
    foreseen = stage.play([*before, one], check=True)
    assert foreseen.statuses[name] == "changed", foreseen.messages
    assert not [call for call in stage.aws.calls()[mark:] if call["mutating"]], (
        "a check changes nothing"
    )
    made = stage.play([*before, one])
    assert made.code == 0 and made.statuses[name] == "changed", made.messages
    mark = len(stage.aws.calls())
    again = stage.play([*before, one])
    assert again.code == 0 and again.statuses[name] == "ok", again.values
    assert not [call for call in stage.aws.calls()[mark:] if call["mutating"]], (
        "a second run asks for nothing"
    )
    if other:
        mended = stage.play([*before, other])
        assert mended.code == 0 and mended.changed, mended.messages
        assert not stage.play([*before, other]).changed
    removed = stage.delete([*before, other or one])
    assert removed.code == 0, removed.text
    assert stage.play([*before, one], check=True).statuses[name] in ("changed", "unknown")
    assert not stage.delete([*before, one]).gone
    if foreign:
        if before:
            assert stage.play(before).code == 0
        foreign()
        refused = stage.play([*before, one])
        assert refused.code == 2 and "is not tagged" in refused.messages, refused.values
        assert name not in stage.delete([*before, one]).gone
