"""The trainer's tests: quick ones in this process, and `processes` ones that start real training runs."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "processes: starts training processes; leave out with -m 'not processes'")
