"""Selection: which steps run (--tags, --start-at-task), and which hosts form a batch (serial)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from playrunner.errors import BadInput, Place, StepFailed
from playrunner.frozen import frozen
from playrunner.model import AFTER_ITS_INCLUDES, Play, Step, steps_of
from playrunner.text.did_you_mean import did_you_mean
from playrunner.text.written import is_template
from playrunner.variables.host_memory import OMIT
from playrunner.variables.scope import Scope

_UNTAGGED = frozenset({"untagged"})


@frozen
class Plan:
    """What --tags, --skip-tags and --start-at-task leave of a playbook."""

    tags: frozenset[str] = frozenset({"all"})
    skip_tags: frozenset[str] = frozenset()
    start: tuple[int, tuple[int, ...]] | None = None  # play number and position of the first step
    play_number: int = 0

    def selects(self, step: Step, scope_of: Callable[[], Scope]) -> bool:
        if AFTER_ITS_INCLUDES in step.position:  # a handler runs when it was notified
            return True
        if self.start and not step.implicit and (self.play_number, step.position) < self.start:
            return False
        tags = step.keywords.tags
        return self.wants(rendered_tags(tags, scope_of()) if any(map(is_template, tags)) else tags)

    def may_select(self, step: Step) -> bool:
        """By what is written; tags that are templates may become any."""
        tags = step.keywords.tags
        return any(map(is_template, tags)) or self.wants(tags)

    def wants(self, tags: frozenset[str]) -> bool:
        """Whether a step with these tags runs; the rules are Ansible's."""
        tags = tags or _UNTAGGED
        is_tagged = tags != _UNTAGGED
        chosen = (
            "always" in tags
            or ("all" in self.tags and "never" not in tags)
            or bool(tags & self.tags)
            or ("tagged" in self.tags and is_tagged and "never" not in tags)
        )
        if not chosen:
            return False
        if "all" in self.skip_tags:
            return "always" in tags and "always" not in self.skip_tags
        return not (tags & self.skip_tags or ("tagged" in self.skip_tags and is_tagged))


def rendered_tags(tags: frozenset[str], scope: Scope) -> frozenset[str]:
    """The tags with templates among them rendered; one may give several."""
    words: list[str] = []
    for tag in tags:
        rendered = scope.run_vars.templar.render(tag, scope)
        for each in rendered if isinstance(rendered, list) else [rendered]:
            words += _words(str(each))
    return frozenset(words)


def make_plan(
    plays: Sequence[Play], tags: str = "", skip_tags: str = "", start_at: str = ""
) -> Plan:
    selected = frozenset(_words(tags)) or frozenset({"all"})
    return Plan(
        selected, frozenset(_words(skip_tags)), _start(plays, start_at) if start_at else None
    )


def _start(plays: Sequence[Play], name: str) -> tuple[int, tuple[int, ...]]:
    names = []
    for number, play in enumerate(plays):
        for step in (step for section in play.sections for step in steps_of(section)):
            if (
                name in (step.name, step.title)
                or fnmatchcase(step.name, name)
                or fnmatchcase(step.title, name)
            ):
                return number, step.position
            names.append(step.name)
    hint = did_you_mean(name, names, "--list-tasks shows them")
    raise BadInput(f'--start-at-task: there is no step "{name}"{hint}')


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def batches(hosts: Sequence[str], serial: Sequence[Any], place: Place) -> list[list[str]]:
    """The hosts in batches that run the play one after another, as `serial` says."""
    rest = list(hosts)
    serial = [size for size in serial if size is not OMIT]
    if not serial:
        return [rest] if rest else []
    sizes = [_size(size, len(rest), place) for size in serial]
    made: list[list[str]] = []
    while rest:
        size = sizes[min(len(made), len(sizes) - 1)]
        made.append(rest[:size])
        rest = rest[size:]
    return made


def _size(size: Any, total: int, place: Place) -> int:
    text = str(size).strip()
    try:
        number = (
            int(float(text.removesuffix("%")) * total / 100) if text.endswith("%") else int(text)
        )
    except (ValueError, OverflowError):
        raise StepFailed(
            f"{place}: serial takes a number of hosts or a percentage, not {size!r}"
        ) from None
    if number <= 0:
        return total if not text.endswith("%") else 1
    return number


def ordered(hosts: Sequence[str], order: str) -> list[str]:
    if order == "sorted":
        return sorted(hosts)
    if order == "reverse_sorted":
        return sorted(hosts, reverse=True)
    if order == "reverse_inventory":
        return list(reversed(hosts))
    if order == "shuffle":
        return random.sample(list(hosts), len(hosts))
    return list(hosts)
