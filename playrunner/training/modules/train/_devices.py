"""A node's accelerators: which there are, and who holds their memory."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


_ASK_SECONDS = 30


def devices(ctx: HostContext) -> dict[str, Any]:
    """The accelerators by kind; none means that the cores train."""
    rows = _nvidia(ctx, "--query-gpu=name,memory.used")
    if rows:
        return {
            "kind": "cuda",
            "count": len(rows),
            "name": rows[0][0],
            "used_mib": [_number(row[1]) for row in rows],
        }
    cards = _neuron(ctx)
    if cards is not None:
        return {
            "kind": "neuron",
            "count": sum(int(card.get("nc_count", 0)) for card in cards),
            "name": "neuron",
        }
    return {"kind": "cpu", "count": 0, "name": ""}


def holders(ctx: HostContext) -> list[dict[str, Any]]:
    """Every process that holds memory of a device: pid, how much (0 where it is not told), on
    which."""
    processes = [
        {"pid": int(row[0]), "mib": _number(row[1]), "device": row[2]}
        for row in _nvidia(ctx, "--query-compute-apps=pid,used_memory,gpu_bus_id")
        if row[0].isdigit()
    ]
    for card in _neuron(ctx) or ():
        processes += [
            {
                "pid": int(each["pid"]),
                "mib": 0,
                "device": f"neuron device {card.get('neuron_device', '?')}",
            }
            for each in card.get("neuron_processes", ())
            if str(each.get("pid", "")).isdigit()
        ]
    return processes


def _nvidia(ctx: HostContext, question: str) -> list[list[str]]:
    """The rows of an answer; none where there is no such program, or no driver for it."""
    if not _has("nvidia-smi"):
        return []
    ran = ctx.run(["nvidia-smi", question, "--format=csv,noheader,nounits"], timeout=_ASK_SECONDS)
    count = question.count(",") + 1
    return (
        [
            [cell.strip() for cell in row]
            for row in (line.rsplit(",", count - 1) for line in ran.out.splitlines())
            if len(row) == count
        ]
        if not ran.rc
        else []
    )


def _neuron(ctx: HostContext) -> list[dict[str, Any]] | None:
    """The cards; None where there are none."""
    if not _has("neuron-ls"):
        return None
    import json

    ran = ctx.run(["neuron-ls", "--json-output"], timeout=_ASK_SECONDS)
    try:
        cards = json.loads(ran.out) if not ran.rc else None
    except ValueError:
        return None
    return cards if isinstance(cards, list) else None


def _has(program: str) -> bool:
    """Whether the PATH leads to it. Not `shutil.which`: that imports all kinds of archives."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    places = (os.path.join(folder, program) for folder in folders if folder)
    return any(os.access(place, os.X_OK) and os.path.isfile(place) for place in places)


def _number(text: str) -> int:
    """In MiB; some drivers answer [N/A]."""
    return int(text) if text.isdigit() else 0
