"""docs/aws-roles.md: the defaults of its tables are those of the roles."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \| (.*?) ?\| .*\|$")
_VALUE = re.compile(r"|`[^`]*`|true|false|[\d.]+")


@cache
def _defaults() -> dict[str, Any]:
    files = sorted((ROOT / "roles").glob("*/defaults/main.yaml"))
    return {name: value for file in files for name, value in _read(file).items()}


def _read(file: Path) -> dict[str, Any]:
    return yaml.safe_load(file.read_text()) or {}


def _rows() -> list[tuple[str, str]]:
    """Every variable with the text of its default, where that is a value and no description."""
    rows: list[tuple[str, str]] = []
    for line in (ROOT / "docs" / "aws-roles.md").read_text().splitlines():
        row = _ROW.match(line)
        names = re.findall(r"`(\w+_\w+)`", row[1]) if row else []
        parts = re.findall(r"`[^`]*`|[^, ][^,]*", row[2]) if row and names else []
        rows += zip(names, parts if len(parts) == len(names) else parts[:1] or [""], strict=False)
    return [(name, text.strip("`")) for name, text in rows if _VALUE.fullmatch(text)]


@pytest.mark.parametrize(("name", "text"), _rows())
def test_a_default_of_the_page_is_the_roles(name: str, text: str) -> None:
    defaults = _defaults()
    if name == "max_hourly":
        return  # of no role: the cost of a plan
    assert name in defaults, "a variable of the page that no role has"
    value = yaml.safe_dump(defaults[name]).replace("{{ cluster_name }}", "CLUSTER")
    if "{{" in value:
        return  # it follows from others
    if not text:
        assert not defaults[name] and defaults[name] is not False
    else:
        assert str(yaml.safe_load(value)) in (text, str(yaml.safe_load(text)))


def test_the_page_is_read() -> None:
    assert (
        len(_rows()) > 30 and {"registry_keep", "bucket_keep", "efs_keep"} <= dict(_rows()).keys()
    )


def test_nodes_get_all_that_a_machine_gets_which_trains_by_itself() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    role = yaml.safe_load((ROOT / "roles/training/defaults/main.yaml").read_text())
    missing = set(project["optional-dependencies"]["train"]) - set(role["train_packages"])
    assert not missing, "train.prepare leaves these out"


def test_a_switch_given_as_text_is_read_as_one() -> None:
    """`--extra-vars efa_proof=false` gives text, which holds in any condition; what is passed to a
    module's argument as it is, the module reads."""
    switches = [name for name, value in _defaults().items() if isinstance(value, bool)]
    used = re.compile(rf"\b({'|'.join(switches)})\b(?!\s*(?::|\|\s*bool\b))")
    passed = re.compile(r'"\{\{ \w+ \}\}"')
    files = [*(ROOT / "roles").rglob("*.yaml"), *(ROOT / "manifests").rglob("*.j2")]
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if not line.lstrip().startswith("#") and used.search(passed.sub("", line))
    ]
    assert len(switches) > 30 and found == []
