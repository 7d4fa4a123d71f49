"""The recipes of this project's images, worked out by the role itself and without a builder."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from playrunner.model import steps_of
from playrunner.options import Options
from playrunner.playbook.playbook import roles_play
from playrunner.run.run import run_plays

IMAGES = (
    "nccl-build",
    "nccl-tests",
    "fsdp",
    "bert",
    "cmd-shell",
    "tensorboard",
    "cpu",
    "gpt2-elastic",
)


def recipes(folder: Path, **variables: Any) -> dict[str, dict[str, Any]]:
    """Every image's recipe by its name, as `register` gets it."""
    inventory, out = folder / "inventory.yaml", io.StringIO()
    given = {
        "cluster_name": "demo",
        "nccl_image_repository": "localhost/demo",
        "nccl_image_names": list(IMAGES),
        **variables,
    }
    inventory.write_text(yaml.safe_dump({"all": {"vars": given}}))
    play = roles_play(["nccl_image"])
    steps = [
        step
        for section in play.sections
        for step in steps_of(section)
        if step.module == "image.recipe"
    ]
    with contextlib.redirect_stdout(out):
        code = run_plays(
            [replace(play, sections=(tuple(steps),))], Options((str(inventory),), json=True), "test"
        )
    assert code == 0, out.getvalue()
    return {
        one["name"]: one
        for one in each_value(json.loads(out.getvalue())["results"])
        if "name" in one
    }


def each_value(results: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What steps gave, loops taken apart."""
    for result in results:
        yield from result["values"].get("results", [result["values"]])
