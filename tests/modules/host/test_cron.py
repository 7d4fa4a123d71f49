"""host.cron, with a cron_file, and with a stand-in for crontab where cron is not installed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from playrunner.modules.host.cron import Cron
from tests.support.host.performing import done, failure, undone


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobs"


@pytest.fixture
def crontab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called crontab that keeps its table in a file."""
    table, program = tmp_path / "table", tmp_path / "bin" / "crontab"
    program.parent.mkdir()
    program.write_text(f"""#!/bin/sh
case "$*" in
    *-l) cat {table} 2>/dev/null || {{ echo "no crontab for me" >&2; exit 1; }} ;;
    *) cat > {table} ;;
esac
""")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return table


def job(file: Path, **more: Any) -> Cron:
    return Cron(**{"name": "tidy", "job": "rm x", "user": "root", "cron_file": str(file), **more})


def test_a_job_is_written_once(file: Path) -> None:
    assert done(job(file, minute="5", hour="*/2"), check=True)["changed"] and not file.exists()
    result = done(job(file, minute="5", hour="*/2"))
    assert (result["changed"], result["jobs"], result["cron_file"]) == (True, ["tidy"], str(file))
    assert file.read_text() == "#Ansible: tidy\n5 */2 * * * root rm x\n"
    assert file.stat().st_mode & 0o777 == 0o644
    assert not done(job(file, minute="5", hour="*/2"))["changed"]


def test_a_job_changes_where_it_stands(file: Path) -> None:
    file.write_text("#Ansible: tidy\n* * * * * root old\n#Ansible: other\n@daily root b\n")
    done(job(file, special_time="hourly", disabled=True))
    assert (
        file.read_text() == "#Ansible: tidy\n#@hourly root rm x\n#Ansible: other\n@daily root b\n"
    )


def test_a_job_goes_and_others_stay(file: Path) -> None:
    file.write_text('# mine\nA="b"\n#Ansible: tidy\n* * * * * root old\n1 2 3 4 5 root mine\n')
    assert done(job(file, state="absent"))["changed"]
    assert file.read_text() == '# mine\nA="b"\n1 2 3 4 5 root mine\n'
    assert not done(job(file, state="absent"))["changed"]


def test_variables_stand_on_top(file: Path) -> None:
    done(job(file))
    done(job(file, name="PATH", job="/bin", env=True))
    result = done(job(file, name="A", job="q q", env=True, insertafter="PATH"))
    assert result["envs"] == ["PATH", "A"]
    assert file.read_text() == 'PATH="/bin"\nA="q q"\n#Ansible: tidy\n* * * * * root rm x\n'
    done(job(file, name="PATH", env=True, state="absent"))
    assert file.read_text().startswith('A="q q"\n#Ansible')


def test_a_copy_is_kept_when_asked(file: Path) -> None:
    file.write_text("# mine\n")
    kept = Path(done(job(file, backup=True))["backup_file"])
    assert kept.read_text() == "# mine\n"
    kept.unlink()


def test_a_users_crontab_is_read_and_written_through_crontab(crontab: Path) -> None:
    step = Cron(name="tidy", job="rm x", weekday="1-5")
    assert done(step, check=True)["changed"] and not crontab.exists()
    assert done(step)["changed"] and not done(step)["changed"]
    assert crontab.read_text() == "#Ansible: tidy\n* * * * 1-5 rm x\n"


def test_an_earlier_table_is_put_back(crontab: Path) -> None:
    crontab.write_text("# mine\n")
    before = done(Cron(name="tidy", job="x"))["diff"]["before"]
    undone(Cron(name="tidy", job="x"), before)
    assert crontab.read_text() == "# mine\n"


def test_a_file_that_was_made_goes_again(file: Path) -> None:
    undone(job(file), done(job(file))["diff"]["before"])
    assert not file.exists()


def test_bad_arguments_are_explained(file: Path) -> None:
    assert "You must specify 'job'" in str(failure(job(file, job=None)))
    assert "special_time" in str(failure(job(file, special_time="daily", minute="3")))
    assert "user" in str(failure(job(file, user=None)))
