"""host.getent, package_facts, service_facts, dpkg_selections and debconf, as this host is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from playrunner.modules.host.debconf import Debconf
from playrunner.modules.host.dpkg_selections import DpkgSelections
from playrunner.modules.host.getent import Getent
from playrunner.modules.host.package_facts import PackageFacts
from playrunner.modules.host.service_facts import ServiceFacts
from tests.support.host.performing import done, failure

debian = pytest.mark.skipif(not shutil.which("dpkg"), reason="needs Debian")


def test_an_entry_of_a_database() -> None:
    facts = done(Getent(database="passwd", key="root"))["ansible_facts"]
    assert facts["getent_passwd"]["root"][1] == "0"
    missing = done(Getent(database="passwd", key="no-such-name", fail_key=False))
    assert missing["ansible_facts"] == {"getent_passwd": {"no-such-name": None}}
    assert "could not be found" in str(failure(Getent(database="passwd", key="no-such-name")))


@debian
def test_packages_have_a_version_and_a_source() -> None:
    packages = done(PackageFacts())["ansible_facts"]["packages"]
    assert packages["dpkg"][0]["source"] == "apt" and packages["dpkg"][0]["version"]
    assert "no-such" in str(failure(PackageFacts(manager=["no-such"])))


def test_services_are_known_by_name() -> None:
    result = done(ServiceFacts())
    services = result.get("ansible_facts", {}).get("services", {})
    assert services or result["skipped"]
    assert all(service["name"] == name for name, service in services.items())


@debian
def test_a_selection_is_foreseen_and_an_unknown_package_named() -> None:
    assert done(DpkgSelections(name="dpkg", selection="hold"), check=True)["before"] == "install"
    assert not done(DpkgSelections(name="dpkg", selection="install"))["changed"]
    assert "no-such-package" in str(
        failure(DpkgSelections(name="no-such-package", selection="hold"))
    )


@pytest.mark.skipif(not shutil.which("debconf-show"), reason="needs debconf")
def test_an_answer_is_given_once_and_a_password_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Templates too: one that an earlier run left with this machine hides its question.
    (tmp_path / "debconf.conf").write_text(
        "Config: answers\nTemplates: templates\n"
        f"\nName: answers\nDriver: File\nFilename: {tmp_path}/answers.dat\n"
        f"\nName: templates\nDriver: File\nFilename: {tmp_path}/templates.dat\n"
    )
    monkeypatch.setenv("DEBCONF_SYSTEMRC", str(tmp_path / "debconf.conf"))
    step = Debconf(name="pack", question="pack/colour", vtype="select", value="red")
    assert done(step, check=True)["changed"] and done(step, check=True)["changed"]
    assert done(step)["changed"] and not done(step)["changed"]
    assert done(Debconf(name="pack"))["current"] == {"pack/colour": "red"}
    secret = Debconf(name="pack", question="pack/word", vtype="password", value="sesame")
    assert "sesame" not in str(done(secret, diff=True))
    assert "sesame" in (tmp_path / "answers.dat").read_text()
