"""The part of an ssh command line that an inventory may set: ansible_ssh_common_args and its relatives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from playrunner.errors import BadSetting
from playrunner.ssh_values import Given

_WITH_ARGUMENT = ("-F", "-J", "-o", "-i")
_WITHOUT_MEANING = ("-C", "-q", "-v", "-A", "-4", "-6", "-T", "-a", "-x")  # accepted, and of no effect here
_OF_ONE_HOST = ("proxyjump", "proxycommand", "hostname", "port", "user", "hostkeyalias")
_SEVERAL_FILES = ("userknownhostsfile", "globalknownhostsfile")  # quotes in them keep the files apart


@dataclass(frozen=True)
class Options:
    """The configuration file, the jump hosts, and settings by their name in lower case."""

    config_file: str = ""
    jump: Given | None = None
    settings: dict[str, Given] = field(default_factory=dict)

    @classmethod
    def read(cls, arguments: Iterable[Given]) -> Options:
        """All arguments together; of a setting that is given twice the last one counts."""
        made = cls()
        for given in arguments:
            if given.value:
                for flag, argument in _flags(given):
                    made = made._with(flag, replace(given, value=argument))
        return made

    def for_jump_host(self) -> Options:
        """What also holds for a jump host that is given by its address."""
        kept = {key: given for key, given in self.settings.items() if key not in _OF_ONE_HOST}
        return Options(self.config_file, None, kept)

    def _with(self, flag: str, given: Given) -> Options:
        if flag == "-F":
            return replace(self, config_file=given.text())
        if flag == "-J":
            return replace(self, jump=replace(given, called=f"{given.called}: -J"))
        name, value = ("IdentityFile", given.text()) if flag == "-i" else _named(given)
        setting = replace(given, value=value, called=f"{given.called}: {name}")
        if flag == "-i" and "identityfile" in self.settings:
            return self  # the first key is the one that counts
        return replace(self, settings={**self.settings, name.lower(): setting})


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
            raise BadSetting(f'{given.called}: the ssh argument "{word}" is not supported; use -F, -J, -i or'
                           " -o Name=value", given.where())


def _named(given: Given) -> tuple[str, str]:
    """Name and value of an -o, which are separated by = or by a space."""
    text = given.text().strip()
    name, separator, value = text.partition("=" if "=" in text else " ")
    if not name.strip() or not separator:
        given.refuse("has an -o that must be written Name=value")
    value = value.strip()
    if name.strip().lower() not in _SEVERAL_FILES and value[:1] == value[-1:] == '"' and value.count('"') == 2:
        value = value[1:-1]
    return name.strip(), value
