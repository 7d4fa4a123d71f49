"""The cpu image, built for real by its role on a base of this machine's own files: its trainer
trains, as an ordinary user."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path

import pytest
import yaml

from playrunner.images.platform import ARCHITECTURE
from tests.support.images.python_base import LENT, lay_out
from tests.support.images.recipes import each_value
from tests.support.runner import finish, start

# The pins of the image, and the packages behind them.
PACKAGES = {
    "torch_cpu": "torch",
    "numpy": "numpy",
    "fsspec": "fsspec",
    "aiobotocore": "aiobotocore",
    "pyyaml": "pyyaml",
    "tensorboard": "tensorboard",
}
STORES = ["s3fs"]  # which has fsspec's own version
# What the trainer imports on its way; pip need only believe that the rest is installed.
USED = (
    "torch",
    "numpy",
    "pyyaml",
    "pip",
    "typing-extensions",
    "fsspec",
    "filelock",
    "sympy",
    "mpmath",
    "packaging",
)
BASE = "localhost/python-of-this-machine:base"
STEPS = 3


@pytest.fixture
def base(
    storage_environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    missing = [
        package
        for package in (*PACKAGES.values(), *STORES)
        if util.find_spec(package.replace("pyyaml", "yaml")) is None
    ]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed here, so it cannot be put into a base")
    for name, value in storage_environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    lay_out(tmp_path / "base", [*PACKAGES.values(), *STORES, "pip"], USED)
    made = _buildah("from", "scratch").strip()
    subprocess.run(["cp", "-a", f"{tmp_path}/base/.", _buildah("mount", made).strip()], check=True)
    _buildah("commit", "-q", made, BASE)
    _buildah("rm", made)
    return BASE


@pytest.fixture
def container(base: str, tmp_path: Path) -> Iterator[str]:
    """A container from the image that `invoke nccl-image.build` makes."""
    inventory = tmp_path / "inventory.yaml"
    pins = {pin: metadata.version(package).partition("+")[0] for pin, package in PACKAGES.items()}
    inventory.write_text(
        yaml.safe_dump(
            {
                "all": {
                    "vars": {
                        "cluster_name": "demo",
                        "image_builder": "buildah",
                        "nccl_image_repository": "localhost/demo",
                        "nccl_image_bases": {"cpu": base},
                        "nccl_image_override": pins,
                        "nccl_image_object_stores": STORES,
                    }
                }
            }
        )
    )
    words = ("nccl-image.build", "--images", "cpu", "--inventory", inventory, "--json")
    built = finish(start(*words, state=tmp_path / "state"), 300)
    assert built.code == 0, built.text
    (reference,) = {
        one["reference"] for one in each_value(built.data["results"]) if "reference" in one
    }
    name = _buildah("from", reference).strip()
    yield name
    _buildah("rm", name)


def test_the_cpu_image_trains_as_an_ordinary_user(container: str) -> None:
    told = ["--profile", "mnist-mlp-smoke", "--set", f"train.steps={STEPS}", "--output", "/tmp/run"]

    said = _buildah(
        "run",
        "--volume",
        ":".join((*LENT, "ro")),
        container,
        "--",
        "python",
        "-m",
        "trainer",
        *told,
    )

    who = _buildah("run", container, "--", "python", "-c", "import os; print(os.getuid())")
    assert who.strip() == "1000", said
    metrics = _buildah(
        "run", container, "--", "python", "-c", "print(open('/tmp/run/metrics.jsonl').read())"
    )
    steps = [json.loads(line) for line in metrics.splitlines() if line.strip()]
    assert max(step.get("step", 0) for step in steps) == STEPS
    config = json.loads(_buildah("inspect", container))["OCIv1"]
    assert (config["architecture"], config["config"]["User"]) == (ARCHITECTURE, "1000:1000")


def _buildah(*words: str) -> str:
    ran = subprocess.run(
        ["buildah", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
