"""Project: where roles, manifests, playbooks and inventories are found.

A name is looked for in the project's own folder, which is the working folder, and then in what
comes with the package: `playrunner/content` of an installed wheel, or the root of a checkout.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
CODE = PACKAGE.parent  # the folder that `playrunner` and `trainer` are imported from
PROJECT_INVENTORY = "inventory.yaml"  # what `init` writes; used when no inventory is named


@cache
def bundled() -> Path:
    """The folder of the roles, manifests, playbooks and inventories that come with the package."""
    content = PACKAGE / "content"
    return content if content.is_dir() else CODE


def is_checkout() -> bool:
    """Whether this program runs from a checkout of its repository, not from an installed wheel."""
    return bundled() == CODE


def version() -> str:
    """The version of this program, of a checkout that is not installed as well."""
    if is_checkout():
        import tomllib

        return str(tomllib.loads((CODE / "pyproject.toml").read_text())["project"]["version"])
    from importlib import metadata

    return metadata.version("playrunner")


def folders(kind: str) -> list[Path]:
    """The folders of one kind ("roles", "manifests", ...) that exist, the project's own first."""
    candidates = dict.fromkeys((Path.cwd() / kind, bundled() / kind))
    return [folder for folder in candidates if folder.is_dir()]


def find(kind: str, name: str) -> Path | None:
    """The file `name` of one kind: relative if it is the project's own, else the package's."""
    for candidate in (Path(kind) / name, bundled() / kind / name):
        if candidate.is_file():
            return candidate
    return None


def role_folders() -> dict[str, Path]:
    """Every role by name, sorted; the project's own roles replace the package's."""
    roles: dict[str, Path] = {}
    for folder in reversed(folders("roles")):
        roles.update((path.name, path) for path in folder.iterdir() if path.is_dir())
    return dict(sorted(roles.items()))


def find_playbook(name: str) -> Path:
    """The playbook at a path, or the one of that name under playbooks/ of the project or package.

    A path that leads nowhere is returned unchanged, so that the error names it.
    """
    path = Path(name)
    if path.exists() or path.is_absolute():
        return path
    short = name.removeprefix("playbooks/")
    return find("playbooks", short) or find("playbooks", f"{short}.yaml") or path


def find_inventory(source: str) -> str:
    """`--inventory local` is inventories/local.yaml; a path or a list of hosts stays as it is."""
    if "," in source or Path(source).exists():
        return source
    short = source.removeprefix("inventories/")
    return str(find("inventories", f"{short}.yaml") or find("inventories", short) or source)


def inventory_names() -> list[str]:
    """The names under inventories/ that `--inventory` takes."""
    return sorted(
        {path.stem for folder in folders("inventories") for path in folder.glob("*.yaml")}
    )


def default_inventory() -> str:
    """The project's own inventory.yaml, else inventories/local.yaml: a sandbox on this machine."""
    return PROJECT_INVENTORY if Path(PROJECT_INVENTORY).is_file() else find_inventory("local")


def program() -> str:
    """The program that verbs are typed after, for messages: "playrunner", or "invoke"."""
    called = Path(sys.argv[0] if sys.argv else "")
    ours = called.name == "playrunner" or called == PACKAGE / "__main__.py"
    return "playrunner" if ours else "invoke"


def install_extra(extra: str) -> str:
    """The command that installs the packages of an extra, quoted for a shell."""
    return f"pip install 'playrunner[{extra}]'"
