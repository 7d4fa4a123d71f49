"""What an agent's start costs on a host, and its frames."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playrunner.hostside import agent
from playrunner.playbook import module_index

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)  # fmt: skip


@given(st.dictionaries(st.text(), VALUES))
def test_a_frame_is_the_json_that_others_read(frame: dict[str, Any]) -> None:
    assert agent.encoded(frame) == json.dumps(frame)
    assert agent.decoded(json.dumps(frame).encode()) == frame


def test_a_value_of_another_type_is_sent_as_its_text() -> None:
    assert agent.encoded({"path": Path("/x")}) == '{"path": "/x"}'


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_does_not_have_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        agent.encoded({"x": number})


SLOW = ("enum", "json", "re", "selectors", "shutil", "signal", "socket", "subprocess", "tempfile",
        "threading", "typing")  # fmt: skip


@pytest.mark.parametrize(
    "module", ["playrunner.modules.host.file", "playrunner.training.modules.train.node"]
)
def test_what_every_step_needs_imports_nothing_slow(module: str) -> None:
    sent = [name for name, text in module_index.sources(module) if text]
    code = f"import sys; import {', '.join(sent)}; print(*sorted({{*{SLOW}}} & {{*sys.modules}}))"
    root = str(Path(agent.__file__).parents[2])
    program = f"import sys; sys.path.insert(0, {root!r}); {code}"
    ran = subprocess.run(
        [sys.executable, "-IS", "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "\n"
