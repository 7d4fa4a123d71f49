"""The ssh command line options of an inventory: ansible_ssh_common_args, _extra_args and _args."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from playrunner.errors import BadSetting
from playrunner.frozen import frozen
from playrunner.ssh.setting_value import SettingValue

_WITH_ARGUMENT = ("-F", "-J", "-o", "-i")
_WITHOUT_EFFECT = ("-C", "-q", "-v", "-A", "-4", "-6", "-T", "-a", "-x")  # accepted, ignored
_OF_ONE_HOST = ("proxyjump", "proxycommand", "hostname", "port", "user", "hostkeyalias")
# Lists of files: quotes separate them
_SEVERAL_FILES = ("userknownhostsfile", "globalknownhostsfile")


@frozen
class Options:
    """The configuration file, the jump hosts, and settings by their name in lower case."""

    config_file: str = ""
    jump: SettingValue | None = None
    settings: dict[str, SettingValue] = field(default_factory=dict)

    @classmethod
    def read(cls, arguments: Iterable[SettingValue]) -> Options:
        """All arguments together; the last value of a setting wins, of keys the first."""
        config_file, jump, settings = "", None, dict[str, SettingValue]()
        for written in arguments:
            for flag, argument in _flags(written) if written.value else ():
                setting = written._replace(value=argument)
                if flag == "-F":
                    config_file = argument
                elif flag == "-J":
                    jump = setting._replace(called=f"{setting.called}: -J")
                elif flag == "-i":
                    settings.setdefault(
                        "identityfile", setting._replace(called=f"{setting.called}: -i")
                    )
                else:
                    name, value = _named(setting)
                    settings[name.lower()] = SettingValue(
                        value, f"{setting.called}: {name}", setting.where
                    )
        return cls(config_file, jump, settings)

    def for_jump_host(self) -> Options:
        """The settings that also apply to a jump host given by its address."""
        kept = {key: given for key, given in self.settings.items() if key not in _OF_ONE_HOST}
        return Options(self.config_file, None, kept)


def _flags(setting: SettingValue) -> Iterator[tuple[str, str]]:
    words = iter(setting.words())
    for word in words:
        flag, attached = word[:2], word[2:]
        if flag in _WITH_ARGUMENT:
            argument = attached or next(words, "")
            if not argument:
                raise BadSetting(f"{setting.called}: {flag} needs an argument", setting.where())
            yield flag, argument
        elif flag not in _WITHOUT_EFFECT:
            raise BadSetting(
                f'{setting.called}: the ssh argument "{word}" is not supported; use -F, -J, -i or'
                " -o Name=value",
                setting.where(),
            )


def _named(setting: SettingValue) -> tuple[str, str]:
    """Name and value of an -o, which are separated by = or by a space."""
    text = setting.text().strip()
    name, separator, value = text.partition("=" if "=" in text else " ")
    if not name.strip() or not separator:
        setting.refuse("has an -o that must be written Name=value")
    value = value.strip()
    if (
        name.strip().lower() not in _SEVERAL_FILES
        and value[:1] == value[-1:] == '"'
        and value.count('"') == 2
    ):
        value = value[1:-1]
    return name.strip(), value
