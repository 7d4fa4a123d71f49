"""play and run: a whole playbook, or one step typed by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import RUN_FLAGS, options_from, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from invoke.context import Context

_LISTS = {
    "list-tasks": (False, "only list the steps that would run"),
    "list-hosts": (False, "only list the hosts of each play"),
    "list-tags": (False, "only list the tags of each play"),
    "syntax-check": (False, "only load and check the playbook and the inventory"),
}


@verb(
    flags={**RUN_FLAGS, **_LISTS},
    positional=["playbook"],
    help={"playbook": "the playbook: a path, or a name under playbooks/"},
)
def play(context: Context, playbook: str, flags: dict[str, Any]) -> int:
    """Run a playbook on the hosts of an inventory."""
    from playrunner import project
    from playrunner.playbook import load_playbook
    from playrunner.run.run import listing, run_plays
    from playrunner.variables.asked_inventory import open_inventory
    from playrunner.variables.extra_vars import read_extra_vars

    asked = [name for name in ("tasks", "hosts", "tags") if flags.pop(f"list_{name}")]
    syntax_only = flags.pop("syntax_check")
    options = options_from(flags)
    with refused_as_a_run():
        extra = read_extra_vars(options.extra_vars)
        plays = load_playbook(project.find_playbook(playbook), extra=extra)
    if asked:
        _print_listing(listing(plays, options, asked[0]), options.json)
        return 0
    if syntax_only:
        open_inventory(options)
        if options.json:
            print_json({"playbook": playbook, "ok": True, "exit_code": 0})
        else:
            print(f"{playbook}: {len(plays)} play{'s' * (len(plays) != 1)}, no problem found")
        return 0
    with refused_as_a_run():
        return run_plays(plays, options, f"play {playbook}")


@verb(
    positional=["pattern"],
    help={
        "pattern": "the hosts: names, groups or a pattern",
        "module": "the module to run",
        "args": "the module's arguments",
        "become": "run as root (or as ansible_become_user)",
    },
)
def run(
    context: Context,
    pattern: str,
    flags: dict[str, Any],
    module: str = "command",
    args: str = "",
    become: bool = False,
) -> int:
    """Run one module on some hosts, as: run gpu --module command --args uptime."""
    from playrunner.playbook.adhoc import one_step_play
    from playrunner.run.run import run_plays

    return run_plays(
        [one_step_play(pattern, module, args, become)],
        options_from(flags),
        f"run {pattern} --module {module}",
    )


@contextmanager
def refused_as_a_run() -> Iterator[None]:
    """Under --json a run that is refused has the fields of one that was not: no results, and an
    empty recap."""
    from playrunner.errors import PlayrunnerError

    try:
        yield
    except PlayrunnerError as error:
        error.json_fields = {"results": [], "recap": {}}
        raise


def _print_listing(listed: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(listed)
        return
    for entry in listed["plays"]:
        print(f"play {entry['number']}: {entry['play']}")
        for host in entry.get("hosts", ()):
            print(f"  {host}")
        if "tags" in entry:
            print(f"  tags: {', '.join(entry['tags']) or '(none)'}")
        for step in entry.get("tasks", ()):
            print(f"  {step['name']}" + (f"  [{', '.join(step['tags'])}]" if step["tags"] else ""))
