"""Dockerfile: which images a recipe stands on, and whether a secret is built into it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from playrunner.hostside.module import Failed

_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?-([^}]*))?\})")
_SECRET_NAME = re.compile(
    r"passw|secret|token|credential|api_?key|access_?key|private_?key", re.IGNORECASE
)


def bases(text: str, build_args: Mapping[str, str]) -> list[str]:
    """The images that FROM and COPY --from name, build arguments put in, each once; stages of its
    own are none."""
    known, stages, images = dict[str, str](), {"scratch"}, list[str]()
    for line in _instructions(text):
        word, *rest = line.split()
        if word.upper() == "ARG" and not images and len(stages) == 1:
            name, _, default = rest[0].partition("=")
            known[name] = str(build_args.get(name, default.strip("\"'")))
        elif word.upper() == "FROM":
            names = [part for part in rest if not part.startswith("--")]
            images.append(_filled(names[0], known, stages))
            if len(names) == 3:
                stages.add(names[2].lower())
        elif word.upper() == "COPY":
            origin = next(
                (part.partition("=")[2] for part in rest if part.startswith("--from=")), ""
            )
            if origin and not origin.isdigit():
                images.append(_filled(origin, known, stages))
    return list(dict.fromkeys(base for base in images if base))


def refuse_secret_arguments(build_args: Mapping[str, str]) -> None:
    """A build argument can be read in the image's history by everyone who pulls it."""
    for name in build_args:
        if _SECRET_NAME.search(name):
            raise Failed(
                f'the build argument "{name}" would be readable in the image\'s history; mount a'
                " Secret where the image runs instead"
            )


def _filled(image: str, known: Mapping[str, str], stages: set[str]) -> str:
    """The image's name with its arguments put in; empty for a stage."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        filled = known.get(name) or match[3]
        if not filled:
            raise Failed(
                f'the Dockerfile builds on "{image}", and {name} has no value; give it in'
                " build_args"
            )
        return filled

    filled = _VARIABLE.sub(value, image)
    return "" if filled.lower() in stages else filled


def _instructions(text: str) -> Iterator[str]:
    """The lines that say something, continued ones joined."""
    joined = re.sub(r"\\[ \t]*\n(?:[ \t]*#[^\n]*\n)*", " ", text)
    for line in joined.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()
