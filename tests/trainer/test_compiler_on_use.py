"""torch's compiler is imported by what needs it, not by every run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.trainer.launching import launch

ROOT = Path(__file__).parents[2]
# Each program in a fork of a process where torch is imported and the compiler is not
_IN_FORKS = """
import json, os, sys, torch
from trainer.compiler_on_use import StandIn, import_on_use, imported
import_on_use()
assert isinstance(torch._dynamo, StandIn) and not imported()
for program in json.loads(sys.argv[1]):
    if not (child := os.fork()):
        exec(program, globals())
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, program
"""


def _ran(*programs: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _IN_FORKS, json.dumps(programs)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


_IMPORTED_WHOLE = """
assert imported() and found is not None
whole = sys.modules["torch._dynamo"]
assert torch._dynamo is whole and held.config is whole.config is sys.modules[whole.config.__name__]
assert whole.utils is sys.modules["torch._dynamo.utils"]
assert whole.config.__spec__.loader.get_filename() == whole.config.__file__
assert held.utils.get_optimize_ddp_mode() == "ddp_optimizer"
import_on_use()
assert torch._dynamo is whole
"""


def test_training_does_without_it_and_all_else_that_is_asked_of_it_imports_it_once() -> None:
    _ran(
        """
model = torch.nn.Linear(3, 1)
before = model.weight.clone()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
sys.modules.pop("torch._dynamo")  # joining a group asks it to forget, where it is there
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
import_on_use()
torch.nn.parallel.DistributedDataParallel(model)(torch.ones(1, 3)).sum().backward()
optimizer.step()
optimizer.zero_grad()
assert (model.weight < before).all() and model.weight.grad is None
assert not imported()
os._exit(0)
""",
        *(
            f"held = torch._dynamo\n{use}\n{_IMPORTED_WHOLE}"
            for use in (
                "import torch._dynamo.config as found",
                "found = torch._dynamo.config",
                "found = torch._dynamo.utils.counters",
            )
        ),
    )


def test_what_was_to_be_left_out_of_compiled_code_is_once_there_is_some() -> None:
    said = _ran("""
@torch.compiler.disable
def left_out(value):
    print("compiling" if torch.compiler.is_compiling() else "not compiled")
    return value * 2

assert left_out(torch.ones(1)) == 2 and not imported()
seen = []
def graphs(module, _):
    seen.append(sum(node.op == "call_function" for node in module.graph.nodes))
    return module.forward
assert torch.compile(lambda value: left_out(value + 1) + 1, backend=graphs)(torch.ones(1)) == 5
assert imported() and seen == [1, 1], seen
""")
    assert said == "not compiled\n" * 2


@pytest.mark.processes
@pytest.mark.parametrize("strategy", ["ddp", "deepspeed"])
def test_a_run_that_compiles_nothing_imports_no_compiler(strategy: str, tmp_path: Path) -> None:
    if strategy == "deepspeed":
        pytest.importorskip("deepspeed")
    ended = launch(
        "gpt2-micro-smoke",
        tmp_path,
        f"train.strategy.name={strategy}",
        "train.steps=2",
        "train.schedule.warmup_steps=1",
        environment={"PYTHONPROFILEIMPORTTIME": "1"},
    )
    assert ended.code == 0, ended.text
    assert "| torch" in ended.text, "imports are told"
    for part in ("torch._dynamo.symbolic_convert", "torch._inductor.compile_fx"):
        assert part not in ended.text
