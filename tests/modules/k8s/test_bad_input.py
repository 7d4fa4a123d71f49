"""Bad manifests fail before anything is applied, with file, line and field."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.kube.module_stage import KubeStage, Run

GOOD = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: first}
data: {a: "1"}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: main
"""


def played(stage: KubeStage, text: str, template: bool = False, **variables: Any) -> Run:
    file = stage.folder / ("objects.yaml.j2" if template else "objects.yaml")
    file.write_text(text)
    step = {
        "name": "set",
        "k8s.manifest": {
            "name": "things",
            "namespace": stage.namespace,
            "record": stage.namespace,
            "wait": False,
            "template" if template else "src": str(file),
        },
    }
    run = stage.play([step], **variables)
    assert run.code == 0 or not stage.api.get(
        f"/api/v1/namespaces/{stage.namespace}/configmaps/first"
    ), "nothing is applied"
    return run


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            f"{GOOD}---\n{GOOD.replace('ConfigMap', 'ConfigMop').replace('first', 'x')}",
            7,
            'did you mean kind "ConfigMap"?',
        ),
        (f"{GOOD}---\n{GOOD.replace('v1', 'v2', 1).replace('first', 'x')}", 7, 'apiVersion "v1"'),
        (f"{GOOD}---\nkind: Pod\nmetadata: {{name: x}}\n", 6, "apiVersion: is missing"),
        (
            f"{GOOD}---\napiVersion: v1\nkind: Pod\nmetadata:\n  generateName: x-\n",
            8,
            "metadata.name: is missing",
        ),
        (f"{GOOD}---\na: [1, 2\nb: 3\n", 7, "not valid YAML"),
        (f"{GOOD}---\n{GOOD}", 8, "ConfigMap first is declared twice"),
        (
            GOOD.replace("{name: first}", "\n  name: first\n  labels:\n    up: true"),
            6,
            "must be text, not True; quote it",
        ),
        (
            GOOD.replace("{name: first}", "\n  name: first\n  labels:\n    on: x"),
            5,
            "the name True in it must be text",
        ),
        (GOOD.replace('"1"', "2024-01-01"), 4, "data.a: must be text"),
        (f"{GOOD}---\n- a\n", 6, "an object is a mapping"),
        (f"{GOOD}---\n{WEB}          image: [web]\n", 16, "image"),
        (f"{GOOD}---\n{WEB}", 15, "image: Required value"),
        (f"{GOOD}---\n{WEB}          image: web:1\n          imagePolicy: x\n", 17, "imagePolicy"),
        (
            f"{GOOD}---\n{WEB}          image: web:1\n      restartPolicy: Sometimes\n",
            17,
            "restartPolicy",
        ),
    ],
)
def test_what_is_wrong_with_a_manifest_is_told_with_its_place(
    stage: KubeStage, text: str, line: int, words: str
) -> None:
    run = played(stage, text)
    assert run.code, run.values
    assert words in run.messages, run.messages
    if "image: Required" not in words and "imagePolicy" not in words and "[web]" not in text:
        assert f"objects.yaml:{line}: " in run.messages, run.messages
    else:
        assert "objects.yaml:" in run.messages, run.messages


def test_a_variable_that_is_not_there_is_named_with_its_line(stage: KubeStage) -> None:
    text = GOOD + "---\n" + GOOD.replace("first", "second").replace('"1"', '"{{ not_there }}"')
    run = played(stage, text, template=True)
    assert (
        run.code
        and "objects.yaml.j2:9" in run.messages
        and "'not_there' is undefined" in run.messages
    ), run.messages


def test_a_place_in_a_rendered_text_is_one_in_the_template(stage: KubeStage) -> None:
    text = (
        "{% for name in ['first', 'second'] %}\n"
        + GOOD.replace("first", "{{ name }}")
        + "---\n{% endfor %}\n"
        + GOOD.replace("ConfigMap", "ConfigMop")
    )
    run = played(stage, text, template=True)
    assert run.code and "objects.yaml.j2:9: kind:" in run.messages, run.messages
    good = played(
        stage, text.replace("ConfigMop", "ConfigMap").replace("first}", "third}"), template=True
    )
    assert good.code == 0, good.messages
    assert stage.api.get(f"/api/v1/namespaces/{stage.namespace}/configmaps/second")


@pytest.fixture
def page() -> Iterator[tuple[str, dict[str, int]]]:
    """An address that serves a manifest, and how often it was asked for."""
    asked = {"count": 0}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked["count"] += 1
            self.send_response(200)
            self.send_header("Content-Length", str(len(GOOD)))
            self.end_headers()
            self.wfile.write(GOOD.encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/first.yaml", asked
    server.shutdown()


def test_what_is_fetched_is_pinned_and_fetched_once(
    stage: KubeStage,
    page: tuple[str, dict[str, int]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    url, asked = page
    pinned = hashlib.sha256(GOOD.encode()).hexdigest()

    def step(**source: Any) -> dict[str, Any]:
        return {
            "name": "set",
            "k8s.manifest": {
                "name": "things",
                "namespace": stage.namespace,
                "record": stage.namespace,
                **source,
            },
        }

    assert "sha256" in stage.play([step(url=url)]).messages
    refused = stage.play([step(url=url, sha256="0" * 64)])
    assert refused.code == 2 and pinned in refused.messages
    assert stage.api.get(f"/api/v1/namespaces/{stage.namespace}/configmaps/first") is None
    before = asked["count"]
    assert stage.play([step(url=url, sha256=pinned)]).code == 0
    assert stage.play([step(url=url, sha256=pinned)]).statuses["set"] == "ok"
    assert asked["count"] == before + 1
