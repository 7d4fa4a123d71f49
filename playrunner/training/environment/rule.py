"""What the rules about conflicting variables share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from playrunner.training.environment.machine_facts import MachineFacts
from playrunner.training.environment.variable import Variable

Variables = Mapping[str, Variable]
Rule = Callable[[Variables, MachineFacts], Iterator[str]]


def admits(pattern: str, interface: str) -> bool:
    """Whether NCCL_SOCKET_IFNAME lets an interface through: prefixes, `=` for exact names, `^` for
    all but these."""
    negated = pattern.startswith("^")
    names = pattern.removeprefix("^")
    exact = names.startswith("=")
    listed = [each for each in names.removeprefix("=").split(",") if each]
    matched = interface in listed if exact else any(interface.startswith(each) for each in listed)
    return matched is not negated


def quoted(variables: Variables, name: str) -> str:
    return f"{name}={variables[name].shown} ({variables[name].origin})"


def value_in(variables: Variables, name: str) -> str:
    return variables[name].value if name in variables else ""


def is_on(variables: Variables, name: str) -> bool:
    return value_in(variables, name).lower() in {"1", "y", "yes", "t", "true", "on"}
