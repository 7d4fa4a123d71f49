"""Answer: a step's result as the agent sends it. Long texts follow the JSON as raw bytes.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

from playrunner.hostside.agent import encoded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A longer text follows the JSON as raw bytes: quoting it would cost more time
LONG_CHARACTERS = 65536


def sendable(answer: dict[str, Any], body: bytes, limits: Any) -> tuple[bytes, bytes]:
    """An answer as it is sent; one that is too long for the controller becomes a failure."""
    try:
        body = b"".join([*_long_texts(answer), body]) if _has_long_text(answer["result"]) else body
        if body:
            answer["body"] = len(body)
        line = _encoded(answer)
        if len(line) <= limits.line and len(body) <= limits.reply:
            return line, body
        problem = (
            f"has {len(line) + len(body)} bytes, more than the controller takes; see"
            " PLAYRUNNER_REPLY_MB"
        )
    except (ValueError, TypeError, RecursionError) as error:
        problem = f"cannot be sent: {error}"
    changed = answer["result"].get("changed") is True
    answer["result"] = {
        "failed": True,
        "changed": changed,
        "msg": f"the result of the step {problem}",
    }
    return (
        _encoded({"id": answer["id"], "result": answer["result"], "seconds": answer["seconds"]}),
        b"",
    )


def _has_long_text(result: dict[str, Any]) -> bool:
    return any(isinstance(value, str) and len(value) > LONG_CHARACTERS for value in result.values())


def _long_texts(answer: dict[str, Any]) -> list[bytes]:
    """Move long texts from the result to the body; the controller splits them into lines again."""
    result, texts = dict(answer["result"]), []
    answer["parts"] = []
    for name, value in answer["result"].items():
        if isinstance(value, str) and len(value) > LONG_CHARACTERS:
            text = result.pop(name).encode("utf-8", "surrogatepass")
            in_lines = name + "_lines" in result and result[name + "_lines"] == value.splitlines()
            if in_lines:
                del result[name + "_lines"]
            answer["parts"].append([name, len(text), in_lines])
            texts.append(text)
    answer["result"] = result
    return texts


def _encoded(frame: dict[str, Any]) -> bytes:
    try:
        return encoded(frame).encode()
    except ValueError:  # JSON has no NaN or infinity; sent as text
        import json

        return json.dumps(json.loads(json.dumps(frame, default=str), parse_constant=str)).encode()
