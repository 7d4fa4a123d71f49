"""train: use a trained model, or go on from another's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import options_from, verb
from playrunner.training.verbs.flags import JOB, LOOK, NAMED, run_cluster_backend

if TYPE_CHECKING:
    from playrunner.options import Options
    from playrunner.training.model.program import Program

FOLDER = {"folder": "a run's output folder, or one checkpoint, on this machine"}


@verb(
    flags=JOB,
    help={
        **NAMED,
        **FOLDER,
        "to": (
            "a new folder on this machine (default: NAME-model), or s3:// or gs://BUCKET/FOLDER;"
            " of runs on clusters a bucket (default: trained-models/NAME of bucket_name)"
        ),
    },
)
def export(
    context: Any, flags: dict[str, Any], name: str = "", folder: str = "", to: str = ""
) -> int:
    """Write a run's model with its tokenizer, as transformers loads it (idempotent)."""
    from playrunner.training.model.program import Program

    options = options_from(flags)
    if not folder and _on_cluster(options, name):
        return run_cluster_backend("export", flags, name).export(name, to)
    shown = name or (Path(folder).resolve().name if folder else "the newest run")
    target = to or f"{name or (Path(folder).resolve().name if folder else 'run')}-model"
    if options.check:
        return _show({"to": target, "changed": None}, options, f"would export {shown} to {target}")
    if "://" in target:
        program = Program("trainer.staging.publish", "export", (target,))
        result = _result(program, options, name, folder)
    elif folder:
        result = _result(Program("trainer.export", "export", (target,)), options, name, folder)
    else:
        from playrunner.training.model.on_node import copy_from_node

        result = copy_from_node(options, name, Path(target))
    word = "is written to" if result.get("changed") else "is there already, in"
    text = f"{shown}: {result.get('checkpoint')} {word} {target}"
    if "://" not in target:
        text += f"\n  AutoModelForCausalLM.from_pretrained({target!r}) loads it"
    return _show(result, options, text)


@verb(
    flags=LOOK,
    help={
        **NAMED,
        **FOLDER,
        "prompt": "the text to go on from",
        "tokens": "how many tokens to write at most",
        "temperature": "0 always takes the likeliest token",
        "seed": "the same seed writes the same text",
    },
)
def generate(
    context: Any,
    flags: dict[str, Any],
    name: str = "",
    folder: str = "",
    prompt: str = "",
    tokens: int = 64,
    temperature: float = 0.8,
    seed: int = 21,
) -> int:
    """Let a run's newest checkpoint write text, going on from a prompt."""
    from playrunner.training.model.program import Program

    options = options_from(flags)
    words = [f"--prompt={prompt}", f"--tokens={tokens}", f"--temperature={temperature}"]
    program = Program("trainer.use.generate", "generate", (*words, f"--seed={seed}"))
    result = _result(program, options, name, folder)
    return _show(result, options, f"{prompt}{result.get('text', '')}")


@verb(
    flags=LOOK,
    help={
        **NAMED,
        **FOLDER,
        "data": "validation data where the run is (default: the profile's)",
        "wikitext": "a text file in wikitext form where the run is, for perplexity",
        "lambada": 'a jsonl file of {"text": ...} where the run is, for the last words\' loss',
        "batches": "at most this many; 0 is all",
    },
)
def evaluate(
    context: Any,
    flags: dict[str, Any],
    name: str = "",
    folder: str = "",
    data: str = "",
    wikitext: str = "",
    lambada: str = "",
    batches: int = 0,
) -> int:
    """Compute a run's validation loss and perplexity from its newest checkpoint."""
    from playrunner.training.model.program import Program

    options = options_from(flags)
    given = {"data": data, "wikitext": wikitext, "lambada": lambada, "batches": str(batches)}
    words = tuple(f"--{flag}={value}" for flag, value in given.items() if value)
    result = _result(Program("trainer.use.evaluate", "evaluate", words), options, name, folder)
    figures = [f"  {key} {value:.4f}" for key, value in result.items() if isinstance(value, float)]
    return _show(result, options, "\n".join([str(result.get("checkpoint")), *figures]))


@verb(
    flags={name: LOOK[name] for name in ("json",)},
    name="import",
    help={"source": "a folder in Hugging Face's format", "to": "the folder to write"},
)
def import_weights(context: Any, flags: dict[str, Any], source: str = "", to: str = "") -> int:
    """Make a folder to train on from out of Hugging Face weights, with a profile that names it."""
    from playrunner.errors import BadInput
    from playrunner.project import program as command
    from playrunner.training.model.program import Program, run_here

    if not source or not to:
        raise BadInput("--source names the folder with the weights, --to the folder to write")
    program = Program("trainer.use.import_weights", "import", (to,))
    result = run_here(program, source)
    text = (
        f"{source} is imported into {to}\nnext: {command()} train.launch --profile"
        f" {result['profile']} --set train.data.source=text --set train.data.path=FILE"
    )
    return _show(result, options_from({"json": flags["json"]}), text)


def _on_cluster(options: Options, name: str) -> bool:
    from playrunner.training.backend import choose_backend

    return choose_backend(options, run=name).name == "cluster"


def _result(program: Program, options: Options, name: str, folder: str) -> dict[str, Any]:
    if folder:
        from playrunner.training.model.program import run_here

        return run_here(program, folder)
    if _on_cluster(options, name):
        from playrunner.training.model.in_pod import run_in_pod

        return run_in_pod(program, options, name)
    from playrunner.training.model.on_node import run_on_node

    return run_on_node(program, options, name)


def _show(result: dict[str, Any], options: Options, text: str) -> int:
    from playrunner.output.json_output import print_json
    from playrunner.text.streams import visible

    if options.json:
        print_json(result)
    else:
        sys.stdout.write(visible(text) + "\n")
    return 0
