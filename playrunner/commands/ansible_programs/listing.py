"""--list-hosts, --list-tasks and --list-tags in Ansible's form."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from playrunner.inventory import patterns
from playrunner.inventory.inventory import Inventory
from playrunner.model import Play, steps_of
from playrunner.options import Options
from playrunner.run.selection import Plan, make_plan


def print_listing(
    files: Sequence[tuple[str, list[Play]]],
    inventory: Inventory,
    options: Options,
    asked: argparse.Namespace,
) -> None:
    for name, plays in files:
        plan = make_plan(plays, options.tags, options.skip_tags)
        print(f"\nplaybook: {name}")
        for number, play in enumerate(plays, start=1):
            hosts = play.hosts if isinstance(play.hosts, str) else ",".join(map(str, play.hosts))
            tags = _listed(play.keywords.tags)
            print(f"\n  play #{number} ({hosts}): {play.name}\tTAGS: {tags}")
            if asked.list_hosts:
                _print_hosts(play, inventory, options)
            if asked.list_tasks or asked.list_tags:
                _print_tasks(play, plan, asked)


def _print_hosts(play: Play, inventory: Inventory, options: Options) -> None:
    pattern = [play.hosts] if isinstance(play.hosts, str) else list(play.hosts)
    names = patterns.select(inventory, play.hosts, options.limit or None)
    print(f"    pattern: {[str(part) for part in pattern]}")
    print(f"    hosts ({len(names)}):")
    for name in names:
        print(f"      {name}")


def _print_tasks(play: Play, plan: Plan, asked: argparse.Namespace) -> None:
    steps = [step for section in play.sections for step in steps_of(section)]
    chosen = [step for step in steps if plan.wants(step.keywords.tags)]
    if asked.list_tasks:
        print("    tasks:")
        for step in chosen:
            title = step.title if step.name else step.action
            print(f"      {title}\tTAGS: {_listed(step.keywords.tags)}")
    if asked.list_tags:
        print(f"      TASK TAGS: {_listed(tag for step in chosen for tag in step.keywords.tags)}")


def _listed(tags: Iterable[str]) -> str:
    return f"[{', '.join(sorted(set(tags)))}]"
