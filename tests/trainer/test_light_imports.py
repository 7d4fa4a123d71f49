"""What runs before the training environment is there imports nothing of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_IMPORT_ALL = """
import importlib, json, pkgutil, sys
before = set(sys.modules)
package = importlib.import_module(sys.argv[1])
names = [name for _, name, _ in pkgutil.iter_modules(package.__path__, package.__name__ + ".")]
for name in names:
    importlib.import_module(name)
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps([len(names), sorted(loaded - sys.stdlib_module_names - {"trainer"})]))
"""


@pytest.mark.parametrize("package", ["trainer.node", "trainer.staging"])
def test_programs_beside_training_import_the_standard_library_only(package: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_ALL, package],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    count, foreign = json.loads(done.stdout)
    assert count > 5 and foreign == []


def test_what_only_checkpoints_need_is_not_imported_with_a_strategy() -> None:
    """torch's library of checkpoints is a quarter of what a rank would import."""
    program = (
        "import sys, trainer.loop.loop, trainer.strategies.ddp, trainer.strategies.deepspeed\n"
        "print('torch.distributed.checkpoint' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
