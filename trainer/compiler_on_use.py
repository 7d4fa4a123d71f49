"""torch's compiler, imported when something needs it: that takes almost as long as importing torch.

Optimizers and data-parallel models call `torch._dynamo` in every run, to be left out of compiled
code. As long as it is not imported nothing is compiled, so a stand-in can answer these calls; any
other use of it imports the compiler, which takes the stand-in's place.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

NAME = "torch._dynamo"


def import_on_use() -> None:
    """After torch is imported and the process group joined, which looks for the compiler."""
    import torch

    if NAME in sys.modules:
        return
    stand_in = StandIn(NAME)
    sys.modules[NAME] = stand_in
    torch._dynamo = stand_in  # type: ignore[assignment]
    sys.meta_path.insert(0, _Imported())


class StandIn(ModuleType):
    """What may be called though nothing is compiled."""

    def graph_break(self, *args: Any, **kwargs: Any) -> None:
        if imported():
            _compiler().graph_break(*args, **kwargs)

    def disable(self, function: Any = None, *args: Any, **kwargs: Any) -> Any:
        """The function, which is never compiled; as a decorator with settings, too."""
        if function is None:
            return lambda function: self.disable(function, *args, **kwargs)
        if not callable(function) or isinstance(function, type) or imported():
            return _compiler().disable(function, *args, **kwargs)
        left_out = functools.cache(lambda: _compiler().disable(function, *args, **kwargs))

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            return (left_out() if imported() else function)(*given, **named)

        return call

    @property
    def utils(self) -> Any:
        return _compiler().utils if imported() else _Utilities()

    def __getattr__(self, name: str) -> Any:
        # Programs that go through all modules look for names such as __file__; a submodule of it
        # is found by __path__
        if name.startswith("__") and name != "__path__":
            raise AttributeError(name)
        return getattr(_compiler(), name)


class _Utilities:
    @staticmethod
    def get_optimize_ddp_mode() -> str:
        return "no_optimization"  # of compiled models, of which there is none

    def __getattr__(self, name: str) -> Any:
        return getattr(_compiler().utils, name)


def imported() -> bool:
    return not isinstance(sys.modules.get(NAME), StandIn)


def _compiler() -> Any:
    """The module itself, from now on in the stand-in's place."""
    import torch

    if isinstance(sys.modules.get(NAME), StandIn):
        sys.modules.pop(NAME, None)
        vars(torch).pop("_dynamo", None)
    return importlib.import_module(NAME)


class _Imported(MetaPathFinder):
    """Finds a submodule that came with the compiler, where importing just the submodule is what
    imported the compiler: Python would import it a second time."""

    def find_spec(
        self, name: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if target is not None or not name.startswith(f"{NAME}.") or name not in sys.modules:
            return None
        return ModuleSpec(name, _AsItIs(sys.modules[name]))


class _AsItIs(Loader):
    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        # The loading of it has put its own there, but for modules that take no new attributes
        with contextlib.suppress(AttributeError):
            module.__spec__ = self.spec
