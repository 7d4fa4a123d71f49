"""Any text as a template, as an expression and as what a parsing filter is given."""

from __future__ import annotations

from functools import cache

from playrunner.errors import PlayrunnerError
from playrunner.inventory.inventory import read_inventory
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import Templar
from tests.support.fuzz.surface import fuzzed

SEEDS = [
    "{{ a | default('x') | upper }}",
    "{{ m.k['b'] | to_json }} {{ l | map('int') | sum }}",
    "{% for i in l %}{{ i }}{% endfor %}",
    "{% if a == 1 and 'x' in l %}yes{% else %}no{% endif %}",
    "{{ l | selectattr('x', 'defined') | list | length > 0 }}",
    "{{ text | from_yaml }}",
    "{{ text | from_json }}",
    "{{ text | from_yaml_all | list }}",
    "{{ m | to_nice_yaml(indent=2) }}",
    "a == 1 or (m.k is defined and l | length > 2)",
    "text is match('^a.*') and not a",
    "{{ lookup('env', 'HOME') }}",
    "{{ l | zip(l) | list | flatten | unique | join(',') }}",
    "{{ '%s-%d' | format('a', 5) }}",
    "{{ text | regex_replace('a(.)', '\\\\1') }}",
    "{{ '2020-01-01' | to_datetime('%Y-%m-%d') }}",
    "{{ 7 | random(seed=1) }}",
    "{{ text | b64encode | b64decode | hash('sha1') }}",
    "{{ m | dict2items | items2dict | combine({'z': 1}, recursive=true) }}",
    "{{ query('sequence', 'start=1 end=3') }}",
    "{{ '10.0.0.1' is version('1.2', '>=') }}",
    "{{ l[1:] + [a] }}",
    "{{ a if text else omit }}",
    "{{ hostvars['n1']['a'] }}",
]


@cache
def scope() -> Scope:
    inventory = read_inventory(["n1,n2,"])
    text = "a: [1, {b: 2}]\n"
    return Scope(
        RunVariables(
            inventory,
            Templar(),
            {"a": 1, "l": [1, "2", {"x": 3}], "m": {"k": {"b": [1]}}, "text": text},
            {},
        ),
        "n1",
    )


@fuzzed("templates", SEEDS, (PlayrunnerError,), structured=False)
def test_any_template_is_rendered_or_refused(text: str) -> None:
    here = scope()
    templar = here.run_vars.templar
    templar.check_syntax(text)
    templar.check_expression(text)
    refused = None
    for attempt in (
        lambda: templar.render(text, here),
        lambda: templar.truth(text, here),
        lambda: templar.render("{{ it | from_yaml }}", here.inner({"it": text})),
        lambda: templar.render("{{ it | from_json }}", here.inner({"it": text})),
    ):
        try:
            attempt()
        except PlayrunnerError as error:
            refused = error
            assert "\n" not in str(error).strip(), f"told in more than one line: {error}"
    if refused:
        raise refused
