"""The supervisors that this agent has started ahead of their launches, by the mark of their run and
node. They end with the agent, which ends with its connection."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

_waiting: dict[str, Any] = {}


def add(mark: str, process: Any, ctx: Any) -> None:
    ctx.wire.children.add(process.pid)
    _waiting[mark] = process


def begin(mark: str, ctx: Any) -> Optional[Any]:
    """Have the one of this mark go on, which then no longer ends with the agent; None where there
    is none. Others are of launches that came to nothing."""
    for other in [each for each in _waiting if each != mark]:
        _waiting.pop(other).stdin.close()
    process = _waiting.pop(mark, None)
    if process is None or process.poll() is not None:
        return None
    ctx.wire.children.discard(process.pid)
    try:
        process.stdin.write(b"begin\n")
        process.stdin.close()
    except OSError:
        return None
    return process
