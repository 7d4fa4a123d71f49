"""What registries say, and how they say it: tokens for Docker Hub and Artifact Registry, pages of
tags, several architectures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("oras", reason="registries need oras: pip install playrunner[image]")

from playrunner.cloud.resource import Refused
from playrunner.errors import HostUnreachable
from playrunner.hostside.module import Failed
from playrunner.images.credentials import Credentials
from playrunner.images.platform import ARCHITECTURE
from playrunner.images.reference import parse
from playrunner.images.registry import Registry
from playrunner.images.settings import settings_of
from tests.support.images.bearer import BearerRegistry

OTHER = "amd64" if ARCHITECTURE == "arm64" else "arm64"


@pytest.fixture
def there() -> Iterator[BearerRegistry]:
    made = BearerRegistry()
    yield made
    made.close()


def reached(
    there: BearerRegistry, tmp_path: Path, user: str = "me", password: str = "hidden"
) -> Registry:
    home = parse(f"{there.address}/team/images")
    given = {
        "image_auth_file": str(tmp_path / "none.json"),
        "image_user": user,
        "image_password": password,
    }
    return Registry(
        home,
        Credentials(settings_of(given.get), home.registry, lambda: None, lambda: None),
        lambda seconds: None,
    )


def test_a_token_is_fetched_with_the_login_and_used(there: BearerRegistry, tmp_path: Path) -> None:
    digest = there.image("one", **{"playrunner.cluster": "demo"})

    found = reached(there, tmp_path).image("one")

    assert found and (found.digest, found.architectures, found.size) == (digest, (ARCHITECTURE,), 7)
    assert found.labels == {"playrunner.cluster": "demo"}
    assert reached(there, tmp_path).image("two") is None


def test_a_public_image_needs_no_login(there: BearerRegistry, tmp_path: Path) -> None:
    there.anonymous = True
    there.image("one")

    assert reached(there, tmp_path, user="").image("one")


def test_a_wrong_login_is_refused_at_once(there: BearerRegistry, tmp_path: Path) -> None:
    with pytest.raises(
        Refused, match=r'refuses team/images as "me" \(401\); log in with "docker login 127'
    ):
        reached(there, tmp_path, password="wrong").image("one")


def test_an_image_for_several_architectures_names_them_all(
    there: BearerRegistry, tmp_path: Path
) -> None:
    ours = there.image("ours", whose="ours")
    theirs = there.image("theirs", OTHER)
    there.index("both", **{OTHER: theirs, ARCHITECTURE: ours})
    there.index("other", **{OTHER: theirs})

    both, other = reached(there, tmp_path).image("both"), reached(there, tmp_path).image("other")

    assert both and (both.architectures, both.labels) == ((OTHER, ARCHITECTURE), {"whose": "ours"})
    assert other and (other.architectures, other.labels) == ((OTHER,), {})


def test_all_pages_of_tags_are_read(there: BearerRegistry, tmp_path: Path) -> None:
    for tag in "abcde":
        there.image(tag, version=tag)

    assert reached(there, tmp_path).tags() == list("abcde")


@pytest.mark.parametrize("deletes_tags", [True, False])
def test_an_image_is_deleted_the_way_the_registry_can(tmp_path: Path, deletes_tags: bool) -> None:
    there = BearerRegistry(deletes_tags=deletes_tags)
    digest = there.image("one")
    there.image("other", version="2")

    reached(there, tmp_path).delete("one", digest)

    assert list(there.tags) == ["other"] and digest not in there.manifests
    there.close()


def test_trouble_that_passes_is_waited_out(there: BearerRegistry, tmp_path: Path) -> None:
    there.image("one")
    there.troubles = [503, 429]

    assert reached(there, tmp_path).image("one")


def test_trouble_that_stays_is_no_absence(there: BearerRegistry, tmp_path: Path) -> None:
    there.troubles = [503] * 9

    with pytest.raises(HostUnreachable, match="does not answer: 503"):
        reached(there, tmp_path).image("one")


def test_a_manifest_that_is_not_what_it_is_called_is_refused(
    there: BearerRegistry, tmp_path: Path
) -> None:
    there.image("one")
    there.lie = "sha256:" + "0" * 64

    with pytest.raises(Failed, match="but what it sends is sha256:"):
        reached(there, tmp_path).image("one")
