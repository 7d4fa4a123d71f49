"""GPU kernels, as far as a machine without a GPU can tell."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import trainer

KERNELS = [
    "models/kernels.py",
    "models/norm_kernels.py",
    "models/silu_kernels.py",
    "optim/kernels.py",
]


@pytest.mark.parametrize("file", KERNELS)
def test_triton_kernels_have_no_annotations_but_constexpr(file: str) -> None:
    """Triton compiles a kernel's annotations with it, and knows no other name there."""
    source = (Path(trainer.__file__).parent / file).read_text()
    kernels = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(each).startswith("triton.jit") for each in node.decorator_list)
    ]
    assert kernels
    annotations = {
        ast.unparse(argument.annotation)
        for kernel in kernels
        for argument in kernel.args.args
        if argument.annotation
    }
    assert annotations <= {"tl.constexpr"}
    assert not any(kernel.returns for kernel in kernels)
