"""Play, Block, Step and Role: a playbook as values, after loading and before running."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from playrunner.errors import Place
from playrunner.frozen import frozen
from playrunner.text.written import InheritingText, TemplateText, is_template

# The position of a step in its play; steps of an include have positions below the include's
Position = tuple[int, ...]
# In the position of a handler: it comes after everything that the step before it included
AFTER_ITS_INCLUDES = 1 << 20


@frozen
class RoleMention:
    """What makes two mentions of a role the same: then it runs once on a host."""

    path: Path
    params: Mapping[str, Any]
    when: tuple[Any, ...] = ()
    tags: frozenset[str] = frozenset()
    vars: tuple[Mapping[str, Any], ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)  # files of it instead of main
    by_task: bool = False  # by include_role or import_role, apart from those of `roles`


@frozen
class Role:
    """A named folder of steps with its own variables and files."""

    name: str
    path: Path
    defaults: Mapping[str, Any] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(
        default_factory=dict
    )  # given where it and those around are called
    # Of the roles it is called in, and over them those of its dependencies; its own win
    inherited: Mapping[str, Any] = field(default_factory=dict)
    # Of its dependencies, and over them those of the roles it is called in
    inherited_defaults: Mapping[str, Any] = field(default_factory=dict)
    parents: tuple[str, ...] = ()
    parent_paths: tuple[Path, ...] = ()
    public: bool | None = (
        None  # whether the play sees its variables; None as private_role_vars says
    )
    collection: str = ""
    mention: RoleMention | None = None

    @property
    def short_name(self) -> str:
        """The name without that of its collection."""
        return self.name.removeprefix(f"{self.collection}.")


@frozen
class Keywords:
    """The keywords that steps inherit from plays and blocks; a step's own win, `when`, tags and
    variables add up."""

    when: tuple[Any, ...] = ()
    tags: frozenset[str] = frozenset()
    vars: tuple[Mapping[str, Any], ...] = ()  # outermost first
    environment: tuple[Any, ...] = ()  # outermost first
    become: Any = None
    become_user: Any = None
    become_method: Any = None
    become_flags: Any = None
    become_exe: Any = None
    check_mode: Any = None
    diff: Any = None
    delegate_to: Any = None
    delegate_facts: Any = None
    run_once: Any = None
    ignore_errors: Any = None
    ignore_unreachable: Any = None
    no_log: Any = None
    throttle: Any = None
    timeout: Any = None
    any_errors_fatal: Any = None
    notify: Any = None
    connection: Any = None
    remote_user: Any = None
    port: Any = None
    module_defaults: tuple[Mapping[str, Any], ...] = ()  # outermost first

    def under(self, outer: Keywords) -> Keywords:
        """These keywords as they hold inside `outer`."""
        merged = {
            name: getattr(outer, name) for name, value in self.__dict__.items() if value is None
        }
        for name, value in self.__dict__.items():
            if is_template(value) and "omit" in value and getattr(outer, name) is not None:
                merged[name] = InheritingText(value, getattr(outer, name))
        return replace(
            self,
            **merged,
            when=outer.when + self.when,
            tags=outer.tags | self.tags,
            vars=outer.vars + self.vars,
            environment=outer.environment + self.environment,
            module_defaults=outer.module_defaults + self.module_defaults,
        )


NONE = Keywords()


@frozen
class Loop:
    """What a step is repeated over."""

    source: Any
    lookup: str | None = None  # the lookup behind with_<lookup>; None for `loop`
    loop_var: str = "item"
    index_var: str | None = None
    label: Any = None
    pause_seconds: Any = 0
    extended: bool = False
    break_when: tuple[Any, ...] = ()
    all_items: bool = True  # whether `ansible_loop` has `allitems`


@frozen
class Step:
    """One task of a playbook: a module, its raw arguments, and its keywords."""

    name: str
    module: str  # the canonical name: host.file, play.debug, aws.eks_cluster
    arguments: Mapping[str, Any]
    place: Place
    keywords: Keywords
    position: Position = ()
    role: Role | None = None
    loop: Loop | None = None
    register: str | None = None
    until: Any = None
    retries: Any = None
    delay: Any = 5
    notify: tuple[Any, ...] = ()
    listen: tuple[str, ...] = ()
    changed_when: Any = None
    failed_when: Any = None
    async_seconds: Any = None
    poll: Any = 15
    directory: Path = Path()  # of the file it is written in
    # What an include hands down: its surroundings' keywords, not its own
    outer: Keywords | None = None
    params: Mapping[str, Any] = field(default_factory=dict)  # and its own variables
    action: str = ""  # the module as the playbook spells it
    # What is wrong with its arguments or with what it includes: it fails if it is reached
    refusal: str = ""
    keep: Any = None  # teardown keeps it, unless --with-kept is given
    whole: tuple[Any, ...] = ()  # templates that give several arguments at once
    implicit: bool = False  # the runner's own (gathering facts)

    @property
    def title(self) -> str:
        """The title that is shown; the module's name if the step has none."""
        text = self.name or self.module.rpartition(".")[2]
        if not self.role:
            return text
        return (
            TemplateText(f"{self.role.name} : {text}")
            if is_template(text)
            else f"{self.role.name} : {text}"
        )


@frozen
class Block:
    """Steps that share keywords, with the steps of `rescue` and `always`."""

    name: str
    body: tuple[Node, ...]
    rescue: tuple[Node, ...]
    always: tuple[Node, ...]
    keywords: Keywords
    place: Place


@frozen
class RoleBlock:
    """The steps of a role where it is named."""

    mention: RoleMention
    body: tuple[Node, ...]
    once: bool  # left out where the same mention has run on the host


Node = Step | Block | RoleBlock


@frozen
class Play:
    """A play: hosts, and the steps to run on them."""

    name: str
    hosts: Any
    place: Place
    directory: Path
    keywords: Keywords
    # pre_tasks, roles, tasks, post_tasks: handlers run after each pair
    sections: tuple[tuple[Node, ...], ...]
    handlers: tuple[Node, ...]
    roles: tuple[Role, ...]
    vars: Mapping[str, Any]
    mentions: tuple[RoleMention, ...] = ()
    vars_files: tuple[Any, ...] = ()
    vars_prompt: tuple[Mapping[str, Any], ...] = ()
    gather_facts: Any = None  # None: as the configuration says, which is yes by default
    gather_subset: Any = None
    serial: tuple[Any, ...] = ()
    max_fail_percentage: Any = None
    any_errors_fatal: Any = False
    force_handlers: bool | None = None  # None as the command line says
    strategy: str = "free"
    order: str = "inventory"

    def forces_handlers(self, asked: bool) -> bool:
        """Whether handlers run after a failure; the play's word is before the command line's."""
        return asked if self.force_handlers is None else self.force_handlers


def steps_of(nodes: tuple[Node, ...]) -> list[Step]:
    """Every step in reading order, including those of blocks."""
    steps: list[Step] = []
    for node in nodes:
        if isinstance(node, Step):
            steps.append(node)
        elif isinstance(node, RoleBlock):
            steps += steps_of(node.body)
        else:
            steps += steps_of(node.body) + steps_of(node.rescue) + steps_of(node.always)
    return steps
