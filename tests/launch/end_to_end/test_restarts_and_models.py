"""Runs over SSH that start again by themselves, and the models that come of them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.support.launch.site import QUICK, Site

RESTARTED = (*QUICK, "train.steps=30", "launch.max_restarts=2")


@pytest.mark.parametrize("launcher", ["direct", "torchrun"])
def test_a_killed_rank_starts_again_by_itself_on_the_same_curve(site: Site, launcher: str) -> None:
    name = f"again-{launcher}"
    words = ("--nodes", 2, "--launcher", launcher)
    whole = site.launch(f"{name}-whole", *words, settings=(*QUICK, "train.steps=30"))
    assert whole.code == 0, whole.text
    running = site.begin(name, *words, settings=RESTARTED)
    site.await_step(name, 9, running)
    os.kill(site.rank(name, 1), signal.SIGKILL)
    out, err = running.communicate(timeout=240)
    assert running.returncode == 0, out + err
    assert "restart: 1 of 2 in 2 s after node2" in err
    assert "checkpoint: resuming from step-" in err
    assert site.supervisor(name, "node1")["restarts"] == 1
    assert site.losses(name) == pytest.approx(site.losses(f"{name}-whole"), abs=1e-5)


def test_a_detached_run_starts_again_too_though_it_was_to_begin_from_nothing(site: Site) -> None:
    settings = (*RESTARTED, "train.checkpoint.resume=never")
    begun = site.launch("alone", "--nodes", 2, "--detach", settings=settings)
    assert begun.code == 0, begun.text
    site.await_step("alone", 9)
    os.kill(site.rank("alone", 0), signal.SIGKILL)
    site.await_that(
        lambda: site.supervisor("alone", "node1").get("state") == "finished", "the end of the run"
    )
    log = (site.folder("alone") / "nodes" / "node1" / "log").read_text()
    assert "checkpoint: resuming from step-" in log.split("restart: 1 of 2")[1]


def test_a_run_is_exported_generates_and_is_evaluated_where_it_was_trained(
    site: Site, tmp_path: Path
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the node keeps its step and saves it\n" * 400)
    settings = (*QUICK, "train.data.source=text", f"train.data.path={text}")
    held_back = ("train.data.validation_fraction=0.1",)
    trained = site.launch("model", "--nodes", 2, settings=(*settings, *held_back))
    assert trained.code == 0, trained.text
    target = tmp_path / "model"
    exported = site.invoke("train.export", "--name", "model", "--to", target, "--json")
    assert exported.code == 0 and exported.data["changed"] is True, exported.text
    again = site.invoke("train.export", "--name", "model", "--to", target, "--json")
    assert again.code == 0 and again.data["changed"] is False, again.text

    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(target),
        AutoTokenizer.from_pretrained(target),
    )
    assert tokenizer.eos_token_id == model.config.eos_token_id == 256
    written = site.invoke("train.generate", "--name", "model", "--prompt", "the ", "--tokens", 5)
    assert written.code == 0 and written.out.startswith("the "), written.text
    figures = site.invoke("train.evaluate", "--name", "model", "--json")
    assert figures.code == 0 and 0 < figures.data["eval_loss"] < 6, figures.text
    output = site.folder("model") / "output"
    here = site.invoke("train.evaluate", "--folder", output, "--json")
    assert here.data["eval_loss"] == pytest.approx(figures.data["eval_loss"], abs=1e-4)
