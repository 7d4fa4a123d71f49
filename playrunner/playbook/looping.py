"""Loops as tasks write them: `loop` or `with_<lookup>`, and `loop_control` beside it."""

from __future__ import annotations

from playrunner.errors import BadInput
from playrunner.model import Loop
from playrunner.playbook import arguments, keywords
from playrunner.playbook.keyword_values import check_loop_control
from playrunner.text.did_you_mean import did_you_mean, nearest
from playrunner.text.documents import Located
from playrunner.variables.templating import is_template

_LOOP_CONTROL = frozenset(
    ["loop_var", "index_var", "label", "pause", "extended", "extended_allitems", "break_when"]
)


def read_loop(task: Located) -> Loop | None:
    sources = [word for word in task if word == "loop" or str(word).startswith("with_")]
    if not sources:
        if "loop_control" in task:
            raise BadInput('"loop_control" needs a "loop" beside it', task.place("loop_control"))
        return None
    if len(sources) > 1:
        raise BadInput(
            f'a task has one loop; here are "{sources[0]}" and "{sources[1]}"',
            task.place(sources[1]),
        )
    control = task.get("loop_control") or Located()
    if not isinstance(control, Located):
        raise BadInput("loop_control takes a mapping", task.place("loop_control"))
    for word in control:
        if word not in _LOOP_CONTROL:
            hint = did_you_mean(word, _LOOP_CONTROL)
            raise BadInput(f'loop_control has no "{word}"{hint}', control.place(word))
    check_loop_control(control)
    keywords.check_conditions(control, "break_when")
    lookup = None if sources[0] == "loop" else str(sources[0]).removeprefix("with_")
    if lookup is not None and not _is_lookup(lookup):
        close = nearest(lookup, _lookup_names())
        hint = f'; did you mean "with_{close}"?' if close else ""
        raise BadInput(f'there is no loop "with_{lookup}"{hint}', task.place(sources[0]))
    keywords.check_templates(task[sources[0]], task.place(sources[0]))
    extended = is_template(control.get("extended")) or arguments.as_bool(
        control.get("extended") or False
    )
    return Loop(
        task[sources[0]],
        lookup,
        control.get("loop_var", "item"),
        control.get("index_var"),
        control.get("label"),
        control.get("pause", 0),
        extended,
        tuple(keywords.as_list(control.get("break_when"))),
        is_template(all_items := control.get("extended_allitems", True))
        or arguments.as_bool(all_items),
    )


def _is_lookup(name: str) -> bool:
    from playrunner.variables.lookups.lookups import LOOKUPS, find_lookup

    return find_lookup(name, LOOKUPS) is not None


def _lookup_names() -> frozenset[str]:
    from playrunner.variables.lookups.lookups import LOOKUPS

    return frozenset(LOOKUPS)
