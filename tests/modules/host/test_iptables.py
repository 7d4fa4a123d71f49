"""host.iptables, with the real program in a network namespace of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import Any

import pytest

from playrunner.modules.host.iptables import Iptables

IN_NAMESPACE = """
import json, sys
from playrunner.modules.host.iptables import Iptables
from tests.support.host.performing import done
steps = json.loads(sys.argv[1])
print(json.dumps([[done(Iptables(**step), check=check)["changed"] for check in (True, False, False)]
                  for step in steps]))
"""


def changes(*steps: dict[str, Any]) -> Any:
    """Whether each step changes something: foreseen, done, and done again."""
    if not shutil.which("iptables", path="/usr/sbin:/sbin:/usr/bin"):
        pytest.skip("needs iptables")
    command = ["unshare", "-n", sys.executable, "-c", IN_NAMESPACE, json.dumps(steps)]
    if subprocess.run(
        [*command[:2], "iptables", "-L"], capture_output=True, check=False
    ).returncode:
        pytest.skip("needs a network namespace")
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_rules_policies_and_chains_change_once() -> None:
    rule = {"chain": "INPUT", "protocol": "tcp", "destination_port": "22", "jump": "ACCEPT"}
    once = [True, True, False]
    assert (
        changes(
            rule,
            {**rule, "action": "insert", "rule_num": "1", "comment": "two words"},
            {"chain": "FORWARD", "policy": "DROP"},
            {"chain": "mine", "chain_management": True},
            {"chain": "mine", "chain_management": True, "state": "absent"},
            {**rule, "state": "absent"},
        )
        == [once] * 6
    )


def test_a_flush_is_a_change_every_time() -> None:
    assert changes({"chain": "INPUT", "flush": True}) == [[True, True, True]]


def test_arguments_that_do_not_go_together_are_named() -> None:
    assert "chain" in str(Iptables.check({}))
    assert "LOG" in str(Iptables.check({"chain": "x", "log_prefix": "y", "jump": "DROP"}))
    assert "flush|policy" in str(Iptables.check({"flush": True, "policy": "DROP"}))
