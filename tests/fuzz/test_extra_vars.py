"""Any text as --extra-vars, as a limit and as a pattern of hosts."""

from __future__ import annotations

from playrunner.errors import BadInput
from playrunner.inventory.inventory import read_inventory
from playrunner.inventory.patterns import select
from playrunner.variables.extra_vars import read_extra_vars
from tests.support.fuzz.surface import as_bytes, fuzzed, scratch

SEEDS = [
    '{"a": 1, "b": [1, {"c": null}]}',
    "{a: 1, b: 'x y', c: [1, 2]}",
    "a=1 b='x y' c=\"z\"",
    "a: 1\nb: {c: d}\n",
    "gpu:&ready:!bad",
    "n[0:3],~n\\d+",
    "n1,n2,n*[0]",
    "a=",
    "@nowhere.yaml",
]


@fuzzed("extra_vars", SEEDS, (BadInput,))
def test_any_extra_variables_are_read_or_refused(text: str) -> None:
    file = scratch("vars.yaml")
    file.write_bytes(as_bytes(text))
    inventory = read_inventory(["n1,n2,gpu,"])
    refused = None
    for attempt in (
        lambda: read_extra_vars((text,)),
        lambda: read_extra_vars((f"@{file}",)),
        lambda: select(inventory, text),
        lambda: select(inventory, "all", text),
    ):
        try:
            attempt()
        except BadInput as error:
            refused = error
            assert "\n" not in str(error), f"told in more than one line: {error}"
    if refused:
        raise refused
