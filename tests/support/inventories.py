"""Writing inventories for a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playrunner.inventory.inventory import Inventory

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if text.startswith("#!"):
            path.chmod(0o755)
        return path

    return write_file


def values(inventory: Inventory, host: str) -> dict[str, Any]:
    return {name: value.value for name, value in inventory.variables(host).items()}
