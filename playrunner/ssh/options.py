"""The part of an ssh command line that an inventory may set: ansible_ssh_common_args and its
relatives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from playrunner.errors import BadSetting
from playrunner.ssh.setting_value import Given

_WITH_ARGUMENT = ("-F", "-J", "-o", "-i")
_WITHOUT_MEANING = (
    "-C",
    "-q",
    "-v",
    "-A",
    "-4",
    "-6",
    "-T",
    "-a",
    "-x",
)  # accepted, and of no effect here
_OF_ONE_HOST = ("proxyjump", "proxycommand", "hostname", "port", "user", "hostkeyalias")
_SEVERAL_FILES = (
    "userknownhostsfile",
    "globalknownhostsfile",
)  # quotes in them keep the files apart


@dataclass(frozen=True)
class Options:
    """The configuration file, the jump hosts, and settings by their name in lower case."""

    config_file: str = ""
    jump: Given | None = None
    settings: dict[str, Given] = field(default_factory=dict)

    @classmethod
    def read(cls, arguments: Iterable[Given]) -> Options:
        """All arguments together; of a setting that is given twice the last one counts, of keys the
        first."""
        config_file, jump, settings = "", None, dict[str, Given]()
        for written in arguments:
            for flag, argument in _flags(written) if written.value else ():
                given = written._replace(value=argument)
                if flag == "-F":
                    config_file = argument
                elif flag == "-J":
                    jump = given._replace(called=f"{given.called}: -J")
                elif flag == "-i":
                    settings.setdefault(
                        "identityfile", given._replace(called=f"{given.called}: -i")
                    )
                else:
                    name, value = _named(given)
                    settings[name.lower()] = Given(value, f"{given.called}: {name}", given.where)
        return cls(config_file, jump, settings)

    def for_jump_host(self) -> Options:
        """What also holds for a jump host that is given by its address."""
        kept = {key: given for key, given in self.settings.items() if key not in _OF_ONE_HOST}
        return Options(self.config_file, None, kept)


def _flags(given: Given) -> Iterator[tuple[str, str]]:
    words = iter(given.words())
    for word in words:
        flag, attached = word[:2], word[2:]
        if flag in _WITH_ARGUMENT:
            argument = attached or next(words, "")
            if not argument:
                raise BadSetting(f"{given.called}: {flag} needs an argument", given.where())
            yield flag, argument
        elif flag not in _WITHOUT_MEANING:
            raise BadSetting(
                f'{given.called}: the ssh argument "{word}" is not supported; use -F, -J, -i or'
                " -o Name=value",
                given.where(),
            )


def _named(given: Given) -> tuple[str, str]:
    """Name and value of an -o, which are separated by = or by a space."""
    text = given.text().strip()
    name, separator, value = text.partition("=" if "=" in text else " ")
    if not name.strip() or not separator:
        given.refuse("has an -o that must be written Name=value")
    value = value.strip()
    if (
        name.strip().lower() not in _SEVERAL_FILES
        and value[:1] == value[-1:] == '"'
        and value.count('"') == 2
    ):
        value = value[1:-1]
    return name.strip(), value
