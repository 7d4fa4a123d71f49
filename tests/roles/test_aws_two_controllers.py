"""Two controllers that make the same stack at once take turns by the lease in the account."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.aws.cli import ROOT, Operator
from tests.support.aws.role_listing import shape
from tests.support.aws.sandbox import PretendAws


def test_two_that_create_at_once_take_turns_and_make_nothing_twice(
    aws: PretendAws, inventory: Path, tmp_path: Path
) -> None:
    aws.delays(**{"*": 0.0, "eks.cluster.create": 3.0})
    operators = [Operator(aws, tmp_path / name, (str(inventory),)) for name in ("one", "two")]
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "invoke", "eks.create", *operator.flags],
            cwd=ROOT,
            env=operator.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for operator in operators
    ]
    texts = [run.communicate(timeout=operators[0].patience)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], "\n".join(texts)
    assert any("waiting: another run works on" in text for text in texts), "\n".join(texts)
    found = shape(aws)
    for kind in ("vpc", "internet gateway", "nat gateway", "address", "subnet", "route table"):
        named = [name for name in found[kind] if name]
        assert named and len(named) == len(set(named)), (kind, named)
    actions = [call["action"] for call in aws.calls() if call["mutating"] and not call["error"]]
    for action in ("CreateVpc", "CreateCluster", "CreateNatGateway", "AllocateAddress"):
        assert actions.count(action) == 1, action
    assert "changed" not in set(operators[0].results("eks.create").values())
