"""What AWS answers, held against botocore's own description of each call: types are those, and what
is missing is said so.

botocore reads an answer leniently: a page of a proxy becomes an empty mapping, and a field of
another type stays as it came.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from playrunner.text import answers
from playrunner.text.answers import Answer, BadAnswer

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "character": (str,),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "boolean": (bool,),
    "timestamp": (datetime,),
}
_HINT = "is there a proxy between, or another server at aws_endpoint_url?"


def checked(client: Any, operation: str, answer: Any, *, reads: bool) -> Any:
    """The answer to a call; a read must have been answered with something."""
    model = client.meta.service_model
    shape = model.operation_model(client.meta.method_to_api_mapping[operation]).output_shape
    source = f"AWS ({model.service_name}.{operation})"
    if shape is None or not isinstance(answer, dict):
        return answer
    # S3 says of a bucket without settings nothing at all.
    if (
        reads
        and shape.members
        and not answer.keys() & shape.members.keys()
        and model.service_name != "s3"
    ):
        raise BadAnswer(f"{source} answered nothing of what was asked for; {_HINT}")
    return _structure(answer, shape, source, "")


def unreadable(service: str, operation: str, error: Exception) -> BadAnswer:
    """botocore could make nothing of an answer."""
    text = " ".join(str(error).split())[:160]
    return BadAnswer(
        f"AWS ({service}.{operation}) answered what cannot be read: {ascii(text)[1:-1]}; {_HINT}"
    )


def bounded(client: Any) -> Any:
    """A client that takes no larger answer into memory than a service gives."""
    client._endpoint.http_session = _Bounded(client._endpoint.http_session)
    return client


class _Bounded:
    """botocore's HTTP session; what is no stream is read here, within limits."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def send(self, request: Any) -> Any:
        streams, request.stream_output = request.stream_output, True
        answer = self._session.send(request)
        if not streams:
            answer._content = answers.gathered(answer.raw.read, answers.shown(request.url))
        return answer

    def close(self) -> None:
        self._session.close()


def _structure(value: Any, shape: Any, source: str, path: str) -> Answer:
    if not isinstance(value, dict):
        raise _misfit(source, path, value, "a mapping")
    members = shape.members
    # Of a field that no page has, botocore's paginators say None.
    made = Answer(
        (
            name,
            (
                field
                if field is None or name not in members
                else _value(field, members[name], source, f"{path}.{name}".lstrip("."))
            ),
        )
        for name, field in value.items()
    )
    made.source = source
    return made


def _value(value: Any, shape: Any, source: str, path: str) -> Any:
    kind = shape.type_name
    if kind == "structure" and not getattr(shape, "is_document_type", False):
        return _structure(value, shape, source, path)
    if kind == "list":
        if not isinstance(value, list):
            raise _misfit(source, path, value, "a list")
        return [
            _value(item, shape.member, source, f"{path}[{index}]")
            for index, item in enumerate(value)
        ]
    if kind == "map":
        if not isinstance(value, dict):
            raise _misfit(source, path, value, "a mapping")
        return {
            name: _value(item, shape.value, source, f"{path}.{name}")
            for name, item in value.items()
        }
    wanted = _TYPES.get(kind)
    # Policies, which AWS keeps as text, botocore gives back as mappings.
    if (
        wanted
        and not isinstance(value, wanted)
        and not (kind == "string" and isinstance(value, dict))
    ):
        raise _misfit(source, path, value, f"a {kind}")
    return value


def _misfit(source: str, path: str, value: Any, wanted: str) -> BadAnswer:
    return BadAnswer(
        f"{source} answered something else than was asked for: {path or 'it'} is a"
        f" {type(value).__name__}, not {wanted}; {_HINT}"
    )
