"""Runs a target with ansible-core or Playrunner, and says what came of it and why."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from . import sources
from .isolation import Ended, run_isolated
from .targets import Target, by_name

REPOSITORY = Path(__file__).parents[2]
PROGRAMS = ("ansible", "ansible-playbook", "ansible-inventory")
OURS = {"ansible-playbook": "playrunner.commands.ansible_programs.playbook"}


MOST_RUNS = 25  # of one script: each gives one more call to ansible-core


def run_target(target: Target, ours: bool, calls: list[Any], seconds: float) -> dict[str, Any]:
    """What came of it: status, reason, seconds, and the calls of a script."""
    expected = [dict(call) for call in calls]
    found = first = _run_once(target, ours, expected, seconds)
    for _ in range(MOST_RUNS):
        made = found["calls"]
        ended = found["status"] != "pass" and 0 < len(made) <= len(expected)
        if not ended or made[-1].get("status") in (None, "pass"):
            break
        if expected[len(made) - 1].get("differs"):
            break
        # With ansible-core alone for the call that ended the script, later calls count.
        expected[len(made) - 1]["differs"] = made[-1]["reason"] or "other output"
        expected[len(made) - 1]["as"] = made[-1]["status"]
        found = _run_once(target, ours, expected, seconds)
    return {**first, "calls": found["calls"]}


def _run_once(target: Target, ours: bool, calls: list[Any], seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="suite-", dir="/var/tmp") as name:
        folder = Path(name)
        started = time.monotonic()
        ended = _Run(target, ours, calls, folder).run(seconds)
        made = _calls(folder / "calls")
        found = _judged(target, ended, made)
        tail = ended.output[-20000:]
        return {**found, "seconds": round(time.monotonic() - started, 1), "output": tail}


class _Run:
    """One run of a target, in a folder of its own."""

    def __init__(self, target: Target, ours: bool, calls: list[Any], folder: Path) -> None:
        self.target, self.ours, self.folder = target, ours, folder
        (folder / "expected").write_text(json.dumps(calls))
        (folder / "inventory").write_text(
            "[testgroup]\ntesthost ansible_connection=local ansible_pipelining=yes"
            f" ansible_python_interpreter={sources.ansible('python')}\n"
        )
        (folder / "ansible.cfg").write_text("")
        (folder / "output").mkdir()
        self._write_programs()

    def run(self, seconds: float) -> Ended:
        integration = sources.integration()
        if self.target.kind == "script":
            targets = integration / "targets"
            script = [f"cp {self.folder}/inventory {targets.parent}/inventory"]
            folder = targets / self.target.name
            last = f"cd {folder} && ./runme.sh"
        else:
            script, folder = [], integration
            last = self._role(self.target, "ansible-playbook")
        before = [self._role(by_name(name), str(_real())) for name in self.target.setup]
        # The shell stays: the first process of a machine is not the program under test.
        text = " && ".join([*script, *before, last]) + "; exit $?"
        return run_isolated(
            ["/bin/bash", "-c", text], folder, self._environment(), self.folder, seconds
        )

    def _role(self, target: Target, program: str) -> str:
        play = {
            "hosts": "testhost",
            "gather_facts": target.gathers_facts,
            "vars": {"output_dir": str(self.folder / "output")},
            "roles": [target.name],
        }
        file = sources.integration() / f"{target.name}-suite.yml"
        text = json.dumps([play])
        made = f"cd {sources.integration()} && echo '{text}' > {file}"
        return f"{made} && {program} {file.name} -i {self.folder}/inventory"

    def _write_programs(self) -> None:
        own = [sys.executable, "-P", "-m", OURS["ansible-playbook"]] if self.ours else []
        folder = self.folder / "bin"
        folder.mkdir()
        shim = folder / "ansible-playbook"
        call = Path(__file__).with_name("call.py")
        python = f"{sys.executable} -P {call}"
        settings = {
            "RECORD": str(self.folder / "calls"),
            "EXPECTED": str(self.folder / "expected"),
            "PLAYRUNNER": "\n".join(own),
            "ANSIBLE": str(_real()),
        }
        lines = [f"export SUITE_{name}='{value}'" for name, value in settings.items()]
        if self.ours and self.target.kind == "role":
            python = " ".join(own)
        shim.write_text("\n".join(["#!/bin/sh", *lines, f'exec {python} "$@"', ""]))
        shim.chmod(0o755)
        # Scripts source it to install packages; they go into ansible-core's own environment.
        (folder / "virtualenv.sh").write_text("true\n")

    def _environment(self) -> dict[str, str]:
        own_bin = self.folder / "bin"
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "USER") if name in os.environ}
        environment = {
            **kept,
            "PATH": f"{own_bin}:{sources.ansible('ansible').parent}:{_tools()}"
            ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "en_US.UTF-8" if _has_locale() else "C.UTF-8",
            "PAGER": "/bin/cat",
            "OUTPUT_DIR": str(self.folder / "output"),
            "INVENTORY_PATH": str(self.folder / "inventory"),
            "ANSIBLE_CONFIG": str(self.folder / "ansible.cfg"),
            "ANSIBLE_TEST_ANSIBLE_LIB_ROOT": str(
                sources.integration().parents[1] / "lib" / "ansible"
            ),
            "XDG_STATE_HOME": str(self.folder / "state"),
            **_SETTINGS,
            **self.target.environment,
        }
        if self.target.kind == "role":
            environment["ANSIBLE_ROLES_PATH"] = str(sources.integration() / "targets")
            environment["ANSIBLE_PLAYBOOK_DIR"] = str(sources.integration())
        else:
            environment["ANSIBLE_PLAYBOOK_DIR"] = str(self.target.folder)
        return environment


# What ansible-test sets for every target.
_SETTINGS = {
    "ANSIBLE_FORCE_COLOR": "false",
    "ANSIBLE_FORCE_HANDLERS": "true",
    "ANSIBLE_HOST_PATTERN_MISMATCH": "error",
    "ANSIBLE_INVENTORY": "/dev/null",
    "ANSIBLE_DEPRECATION_WARNINGS": "false",
    "ANSIBLE_HOST_KEY_CHECKING": "false",
    "ANSIBLE_RETRY_FILES_ENABLED": "false",
    "ANSIBLE_LIBRARY": "/dev/null",
    "ANSIBLE_DEVEL_WARNING": "false",
    "ANSIBLE_PYTHON_INTERPRETER": "/set/ansible_python_interpreter/in/inventory",
    "ANSIBLE_TEST_CI": "",
    "ANSIBLE_TEST_COVERAGE": "",
    "ANSIBLE_TEST_ANSIBLE_VERSION": sources.VERSION,
}


def _real() -> Path:
    return sources.ansible("ansible-playbook")


def _tools() -> Path:
    return sources.integration().parent / "lib" / "ansible_test" / "_util" / "target" / "tools"


def _has_locale() -> bool:
    return bool(shutil.which("locale")) and "en_US.utf8" in os.popen("locale -a").read()


def _calls(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _judged(target: Target, ended: Ended, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Status and reason of a run; of a script's calls as well."""
    if ended.code == 0:
        status, reason = "pass", ""
    elif ended.code == -1:
        status, reason = "fails", "took too long"
    else:
        status, reason = reason_of(ended.output)
    for call in calls:
        if "differs" in call:
            call["status"], call["reason"] = call.pop("as"), call.pop("differs")
        elif "known" in call:
            same = call["code"] == call["known"]
            call["status"], call["reason"] = ("pass", "") if same else reason_of(call["output"])
            if not same and call["status"] == "fails" and call["code"] == 0:
                call["reason"] = f"ended with 0, Ansible with {call['known']}"
            call["output"] = call["output"][-4000:] if not same else ""
    if status != "pass" and calls and calls[-1].get("status") == "pass":
        calls[-1].update(status="differs", reason=_last_line(ended.output))
    return {"status": status, "reason": reason, "calls": calls}


def reason_of(output: str) -> tuple[str, str]:
    """Whether a failed run was refused or failed, and the first line that says why."""
    if found := re.search(r"^Traceback \(most recent call last\).*?^(\S+Error.*?|\w+: .*?)$",
                          output, re.M | re.S):  # fmt: skip
        return "fails", f"internal error: {found[1][:200]}"
    error = re.search(r"^(?:\[ERROR\]: |ERROR! )(.*)$", output, re.M)
    if error and "TASK [" not in output:
        return "refused", error[1][:300]
    fatal = re.findall(
        r"^(?:fatal|failed): .*?(?:[^{]$|^\}$)(?!\n\.\.\.ignoring)", output, re.M | re.S
    )
    if fatal:
        return "fails", _short(fatal[-1])
    return "fails", error[1][:300] if error else _last_line(output)


def _short(line: str) -> str:
    message = re.search(r'"msg": "((?:[^"\\]|\\.)*)"', line)
    assertion = re.search(r'"assertion": "((?:[^"\\]|\\.)*)"', line)
    text = f"assertion: {assertion[1]}" if assertion else message[1] if message else line
    return text[:300]


def _last_line(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no output"
