"""Compiled kernels are kept for the next start, where only their user can write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from trainer.compile_cache import FOLDERS, keep_compiled_kernels

# Compiles on the CPU what the fast path compiles on a GPU: blocks with a backward of their own
COMPILE = """
import os
from trainer.compile_cache import keep_compiled_kernels
keep_compiled_kernels(os.environ)
import torch, torch._dynamo.utils
from trainer.strategies.cuda_graphs import use_fused_operators

# Products of matrices alone: nothing else has to go through a C compiler
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight.t(), x.t() @ grad

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(8, 8))

    def forward(self, x):
        return Product.apply(x, self.weight)

for _ in range(2):  # the second compiler starts anew, with nothing but the folder of the first
    torch._dynamo.reset()
    block = Block()
    use_fused_operators(block)
    block.compile()
    block(torch.ones(8, 8)).backward(torch.ones(8, 8))
print(dict(torch._dynamo.utils.counters["aot_autograd"]))
"""


def test_the_folders_are_the_users_own(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "caches")}
    keep_compiled_kernels(environment)
    root = tmp_path / "caches" / "playrunner" / "compiled"
    assert root.stat().st_mode & 0o077 == 0
    assert {environment[name] for name in FOLDERS} == {str(root / "inductor"), str(root / "triton")}


def test_a_folder_that_the_user_names_stays(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path), "TRITON_CACHE_DIR": "/mine"}
    keep_compiled_kernels(environment)
    assert environment["TRITON_CACHE_DIR"] == "/mine"


def test_without_a_home_to_write_to_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    environment = {"XDG_CACHE_HOME": str(tmp_path / "file")}
    keep_compiled_kernels(environment)
    assert list(environment) == ["XDG_CACHE_HOME"]


def test_what_was_compiled_once_is_found_again(tmp_path: Path) -> None:
    inherited = {name: value for name, value in os.environ.items() if name not in FOLDERS}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE],
        env={**inherited, "XDG_CACHE_HOME": str(tmp_path), "TORCHINDUCTOR_COMPILE_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "'autograd_cache_saved': 1" in done.stdout and "'autograd_cache_hit': 1" in done.stdout
    assert any((tmp_path / "playrunner" / "compiled" / "inductor").rglob("*"))
