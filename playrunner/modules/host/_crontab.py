"""Lines of a crontab: jobs under a comment that names them, and variables on top."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

MARK = "#Ansible: "  # the same as Ansible writes, so that either takes over the other's jobs


def with_job(lines: list[str], name: str, job: Optional[str]) -> list[str]:
    """The lines with this job, replaced where it stands or added at the end; without it when `job`
    is None."""
    result, replaced, skip = [], False, False
    for line in lines:
        if skip:
            skip = False
            continue
        if line == MARK + name:
            skip = True
            if job is not None and not replaced:
                result += [line, job]
            replaced = True
        else:
            result.append(line)
    return result if replaced or job is None else [*result, MARK + name, job]


def with_variable(
    lines: list[str], name: str, value: Optional[str], before: Optional[str], after: Optional[str]
) -> list[str]:
    """The lines with this variable; a new one stands on top, or beside the one named."""
    setting = f'{name}="{value}"'
    at = next((number for number, line in enumerate(lines) if variable_of(line) == name), None)
    if value is None:
        return [line for line in lines if variable_of(line) != name]
    if at is not None:
        return [*lines[:at], setting, *lines[at + 1 :]]
    neighbour = before or after
    beside = [
        number for number, line in enumerate(lines) if neighbour and variable_of(line) == neighbour
    ]
    place = 0 if not beside else beside[0] if before else beside[0] + 1
    return [*lines[:place], setting, *lines[place:]]


def variable_of(line: str) -> Optional[str]:
    """The variable a line sets, or None."""
    name, sign, _ = line.partition("=")
    name = name.strip()
    return name if sign and name.replace("_", "a").isalnum() and not line.startswith("#") else None


def names_in(lines: list[str]) -> dict[str, list[str]]:
    """The names of jobs and variables, as results tell them."""
    return {
        "jobs": [line[len(MARK) :] for line in lines if line.startswith(MARK)],
        "envs": [name for name in map(variable_of, lines) if name],
    }
