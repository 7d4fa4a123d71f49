"""host.get_url keeps its promises."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.hostside.perform import perform, restore
from playrunner.modules.host.get_url import GetUrl
from tests.support.host.contract import keeps_its_promise, tree_of
from tests.support.host.web import HELLO, serving


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with serving() as address:
        yield address


def test_a_download_with_a_checksum_keeps_the_promise(
    host: Callable[..., Any], folder: Path, web: str
) -> None:
    sum_ = hashlib.sha256(HELLO).hexdigest()
    result = keeps_its_promise(
        host,
        lambda: GetUrl(
            url=f"{web}/hello.txt", dest=str(folder / "g"), checksum=f"sha256:{sum_}", mode="0600"
        ),
        lambda: tree_of(folder),
        disturb=lambda: (folder / "g").chmod(0o644),
    )
    assert (
        result["status_code"] == 200 and result["size"] == len(HELLO) and result["mode"] == "0600"
    )
    assert (
        result["checksum_src"] == hashlib.sha1(HELLO).hexdigest()
        and result["checksum_dest"] is None
    )


def test_a_password_in_the_address_is_not_told(ctx: Any, folder: Path, web: str) -> None:
    address = web.replace("://", "://ada:secret@")
    result = perform(GetUrl(url=f"{address}/private", dest=str(folder)), ctx)
    assert (
        (folder / "private").read_text() == "in"
        and "secret" not in str(result)
        and "ada:********@" in result["url"]
    )
    with pytest.raises(Failed) as caught:
        perform(GetUrl(url=f"{address}/nothing", dest=str(folder)), ctx)
    assert "secret" not in f"{caught.value} {caught.value.values}"


def test_a_list_of_sums_is_read(ctx: Any, folder: Path, web: str) -> None:
    assert perform(
        GetUrl(url=f"{web}/hello.txt", dest=str(folder), checksum=f"sha256:{web}/sums"), ctx
    )["changed"]
    assert (folder / "hello.txt").read_bytes() == HELLO


def test_a_file_the_server_did_not_change_stays(
    host: Callable[..., Any], folder: Path, web: str
) -> None:
    (folder / "g").write_text("mine")
    assert not perform(GetUrl(url=f"{web}/hello.txt", dest=str(folder / "g")), host(check=True))[
        "changed"
    ]
    assert not perform(GetUrl(url=f"{web}/hello.txt", dest=str(folder / "g")), host())["changed"]
    assert (folder / "g").read_text() == "mine"


def test_force_replaces_what_is_there_and_keeps_a_backup(
    host: Callable[..., Any], folder: Path, web: str
) -> None:
    (folder / "g").write_text("mine")
    step = {"url": f"{web}/hello.txt", "dest": str(folder / "g"), "force": True, "backup": True}
    result = perform(GetUrl(**step), host(diff=True))
    assert result["changed"] and Path(result["backup_file"]).read_text() == "mine"
    assert (folder / "g").read_bytes() == HELLO
    restore(GetUrl(**step), result["diff"]["before"], host(diff=True))
    assert (folder / "g").read_text() == "mine"


def test_the_same_content_again_is_no_change(ctx: Any, folder: Path, web: str) -> None:
    (folder / "g").write_bytes(HELLO)
    assert not perform(GetUrl(url=f"{web}/changing.txt", dest=str(folder / "g")), ctx)["changed"]
    assert [path.name for path in folder.iterdir()] == ["g"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"url": "WEB/gone", "dest": "g"}, "404"),
        ({"url": "WEB/hello.txt", "dest": "no/g"}, "no does not exist"),
        ({"url": "WEB/hello.txt", "dest": "g", "checksum": "sha1:" + "0" * 40}, "did not match"),
        ({"url": "WEB/hello.txt", "dest": "g", "checksum": "0123"}, "<algorithm>:<checksum>"),
        ({"url": "http://127.0.0.1:1/x", "dest": "g"}, "127.0.0.1:1/x: .*refused"),
        ({"url": "hello.txt", "dest": "g"}, "not a web address"),
    ],
)
def test_what_cannot_be_had_is_said(
    ctx: Any, folder: Path, web: str, arguments: dict[str, str], words: str
) -> None:
    arguments = {
        **arguments,
        "url": arguments["url"].replace("WEB", web),
        "dest": str(folder / arguments["dest"]),
    }
    with pytest.raises(Failed, match=words):
        perform(GetUrl(**arguments), ctx)
    assert not list(folder.iterdir())
