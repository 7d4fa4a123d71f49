"""What CI runs: suites in lanes side by side."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.until import until

REPOSITORY = Path(__file__).parents[2]
LANES = REPOSITORY / ".ci" / "lanes"
LIMIT_SECONDS = 60
# What is compared live, in hours, with a program that CI does not install
# test-trackers installs 150 MB of two libraries
BY_HAND = {"test-ansible", "test-coverage", "test-trackers"}


def lanes(*given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LANES, *given], check=False, capture_output=True, text=True, timeout=LIMIT_SECONDS
    )


def test_the_commands_of_a_lane_run_in_order_while_the_other_lane_runs(tmp_path: Path) -> None:
    meeting, told = tmp_path / "meeting", tmp_path / "told"
    os.mkfifo(meeting)  # who writes waits for the reader
    done = lanes(
        f"first: echo here > {meeting}; echo 1 > {told}; echo 2 >> {told}",
        f"second: grep here {meeting}; true",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert told.read_text() == "1\n2\n"
    assert done.stdout.splitlines()[-1].endswith("all passed")


def test_a_failure_shows_its_output_with_the_failed_tests_last_while_the_lanes_go_on(
    tmp_path: Path,
) -> None:
    later = tmp_path / "later"
    done = lanes(
        "sound: true",
        f"broken: printf '%s\\n' 'FAILED a::test' 'a traceback' && false; touch {later}",
    )
    assert done.returncode == 1
    assert "a traceback" in done.stdout
    assert done.stdout.splitlines()[-1] == "FAILED a::test"
    assert "all passed" not in done.stdout
    assert later.exists()


def test_what_failed_is_tried_once_more_alone_and_only_the_tests_that_failed(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_it.py").write_text(
        "from pathlib import Path\n"
        "def test_sound(): print('', file=open('sound', 'a'))\n"
        "def test_by_chance():\n"
        "    seen = Path('seen').exists()\n"
        "    Path('seen').touch()\n"
        "    assert seen\n"
    )
    pytest = f"cd {tmp_path} && {sys.executable} -m pytest -c /dev/null --rootdir . test_it.py"
    done = lanes(f"chance: {pytest}", "other: true")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED test_it.py::test_by_chance" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("all passed")
    assert len((tmp_path / "sound").read_text().splitlines()) == 1


def test_a_lane_that_is_killed_has_not_passed() -> None:
    done = lanes("killed: kill -KILL $PPID", "sound: true")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "all passed" not in done.stdout


def test_what_is_ended_ends_its_lanes(tmp_path: Path) -> None:
    meeting = tmp_path / "meeting"
    os.mkfifo(meeting)
    running = subprocess.Popen([LANES, f"endless: echo $$ > {meeting} && sleep 600"])
    pid = int(meeting.read_text())
    running.terminate()
    assert running.wait(LIMIT_SECONDS) == 130
    until(lambda: _is_gone(pid), what="the end of the lane")


def test_every_suite_of_the_makefile_runs_each_time() -> None:
    suites = re.findall(
        r"^(test[\w-]*|fuzz|drills|lint):", (REPOSITORY / "Makefile").read_text(), re.M
    )
    run = (REPOSITORY / ".ci" / "run").read_text()
    wanted = set(suites) - BY_HAND
    assert {"test", "test-launch", "test-trainer", "test-kube"} <= wanted
    assert [each for each in sorted(wanted) if not re.search(rf"make {each}(?![\w-])", run)] == []
    assert "date" not in run, "what runs must not depend on the day"


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
