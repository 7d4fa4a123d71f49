"""Whatever is given as an inventory, it is read or refused; it never breaks the reader."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playrunner.commands.inventory_show import as_data, as_graph
from playrunner.errors import BadInput
from playrunner.inventory.inventory import read_inventory
from playrunner.inventory.patterns import select

SAMPLES = Path(__file__).parent / "inventories"
SEEDS = [
    (SAMPLES / name).read_text()
    for name in ("cluster.yaml", "cluster.ini", "mixed/10-base.yaml", "mixed/20-more.ini")
]
LETTERS = st.sampled_from(list("[]:{}\"'#=-,&*!|>@%\\\n\t 019az$~\x00é"))
NAMES = st.sampled_from(
    ["all", "ungrouped", "hosts", "children", "vars", "a", "b", "n[1:3]", "", "7", "a:b", "_meta"]
)
STRUCTURES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=12,
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        text = text[:start] + "".join(draw(st.lists(LETTERS, max_size=5))) + text[end:]
    return text


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(
    text=st.one_of(mutated(), st.text(max_size=80), STRUCTURES.map(json.dumps)),
    name=st.sampled_from(["i.yaml", "i.ini", "hosts", "i.json"]),
)
def test_any_text_gives_an_inventory_or_is_refused(text: str, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_text(text, encoding="utf-8", errors="replace")
        try:
            inventory = read_inventory([path])
            json.dumps(as_data(inventory))
            as_graph(inventory)
            select(inventory, "all:!a")
        except BadInput as refused:
            assert refused.place is not None and refused.place.file == str(path)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(answer=st.dictionaries(NAMES, STRUCTURES, max_size=4))
def test_any_answer_of_a_script_gives_an_inventory_or_is_refused(answer: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.sh")
        path.write_text(f"#!/bin/sh\ncat {folder}/$1.json\n")
        path.chmod(0o755)
        Path(folder, "--list.json").write_text(json.dumps(answer))
        Path(folder, "--host.json").write_text("{}")
        try:
            json.dumps(as_data(read_inventory([path])))
        except BadInput as refused:
            assert refused.place is not None and refused.place.file == str(path)
