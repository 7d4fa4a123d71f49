"""train: which profiles and settings there are."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import JSON_FLAG, verb


@verb(flags=JSON_FLAG)
def profiles(context: Any, flags: dict[str, Any]) -> int:
    """List the profiles that --profile takes: the project's and those that come with it."""
    from playrunner.output.json_output import print_json
    from trainer.profile import BUNDLED, PROJECT

    files = {path.stem: path for folder in (BUNDLED, PROJECT) for path in folder.glob("*.yaml")}
    described = {name: _first_comment(files[name].read_text()) for name in sorted(files)}
    if flags["json"]:
        print_json({"profiles": described})
        return 0
    width = max(map(len, described))
    for name, text in described.items():
        print(f"{name.ljust(width)}  {text}".rstrip())
    return 0


@verb(flags=JSON_FLAG, help={"group": "only settings whose name begins so, as train.checkpoint"})
def settings(context: Any, flags: dict[str, Any], group: str = "") -> int:
    """List the settings that --set and profiles take, with their defaults."""
    from playrunner.errors import BadInput
    from playrunner.output.json_output import print_json
    from trainer.setting_names import elsewhere
    from trainer.setting_names import settings as all_settings

    chosen = {name: default for name, default in all_settings() if name.startswith(group)}
    if not chosen:
        raise BadInput(f'--group "{group}": no setting begins so{elsewhere(group)}')
    if flags["json"]:
        print_json({"settings": chosen})
        return 0
    width = max(map(len, chosen))
    for name, default in chosen.items():
        print(f"{name.ljust(width)}  {_shown(default)}".rstrip())
    return 0


def _first_comment(text: str) -> str:
    first = text.partition("\n")[0]
    return first.lstrip("# ").strip() if first.startswith("#") else ""


def _shown(default: Any) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, list | tuple):
        return f"[{', '.join(map(_shown, default))}]"
    return '""' if default == "" else str(default)
