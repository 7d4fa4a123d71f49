"""Logins: docker's own file of logins, read and merged into; other entries in it are kept."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.hostside.module import Failed
from playrunner.text import atomic_write
from playrunner.text.answers import Shape, document, fitting, misfit
from playrunner.text.documents import parse_json
from playrunner.text.file_lock import file_lock

_HUB_KEY = "https://index.docker.io/v1/"  # what docker calls Docker Hub in its file
_HELPER_SECONDS = 60
_NO_USER = "<token>"  # what helpers call the user when the secret is a token that stands alone
_CONFIG: Shape = {"credHelpers": {"*": str}, "credsStore": str, "auths": {"*": {"auth": str}}}
_REMEDY = "correct it, or set image_auth_file"


@frozen
class Login:
    """A name and a secret; the secret is never shown."""

    user: str
    secret: str = field(repr=False)

    @property
    def coded(self) -> str:
        return base64.b64encode(f"{self.user}:{self.secret}".encode()).decode()


def read(file: Path, registry: str) -> Login | None:
    """The login for a registry: kept in the file, or by the helper that the file names."""
    config, key = _config(file), _key(registry)
    helper = (config.get("credHelpers") or {}).get(registry)
    if helper:
        return _asked(str(helper), key)
    kept = (config.get("auths") or {}).get(key) or {}
    if kept.get("auth"):
        try:
            user, _, secret = base64.b64decode(kept["auth"]).decode().partition(":")
        except ValueError:
            raise Failed(
                f"{file}: the login for {registry} is no base64 text; log in again: docker login"
                f" {registry}"
            ) from None
        return Login(user, secret)
    return _asked(str(config["credsStore"]), key) if config.get("credsStore") else None


def merge(file: Path, registry: str, login: Login) -> bool:
    """Have the file answer with this login; False when it does already. A registry with a helper of
    its own is left to it."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with file_lock(file.with_name(f"{file.name}.lock")):
        config, key = _config(file), _key(registry)
        if (config.get("credHelpers") or {}).get(registry) or read(file, registry) == login:
            return False
        if config.get("credsStore"):
            entry = {"ServerURL": key, "Username": login.user, "Secret": login.secret}
            _told(str(config["credsStore"]), "store", json.dumps(entry))
            return True
        auths = {**(config.get("auths") or {}), key: {"auth": login.coded}}
        _write(file, {**config, "auths": auths})
        return True


def only(registries: Mapping[str, Login]) -> str:
    """A file's text with these logins and no other: for a machine that should get no more than it
    needs."""
    return json.dumps(
        {"auths": {_key(registry): {"auth": login.coded} for registry, login in registries.items()}}
    )


def _key(registry: str) -> str:
    return _HUB_KEY if registry == "docker.io" else registry


def _config(file: Path) -> dict[str, Any]:
    try:
        config: Any = parse_json(file.read_text() or "{}", str(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, BadInput) as error:
        raise Failed(
            f"{file} cannot be read as docker's configuration: {error}; {_REMEDY}"
        ) from None
    wrong = misfit(config, _CONFIG)
    if wrong:
        raise Failed(f"{file} is no configuration of docker: {wrong}; {_REMEDY}")
    return dict(config)


def _asked(helper: str, key: str) -> Login | None:
    output = _told(helper, "get", key, missing=True)
    if not output:
        return None
    answer = fitting(
        document(output.encode(), f"docker-credential-{helper}"),
        {"Username": str, "Secret": str},
        f"docker-credential-{helper}",
    )
    user = str(answer.get("Username") or "")
    return Login("" if user == _NO_USER else user, str(answer.get("Secret") or ""))


def _told(helper: str, verb: str, text: str, missing: bool = False) -> str:
    """What a docker-credential helper answers; the secret goes and comes through pipes."""
    program = f"docker-credential-{helper}"
    try:
        ran = subprocess.run(
            [program, verb],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=_HELPER_SECONDS,
        )
    except FileNotFoundError:
        if missing:
            return ""
        raise Failed(
            f"docker's configuration names the helper {program}, which is not installed"
        ) from None
    except subprocess.TimeoutExpired:
        raise Failed(f"{program} {verb} did not end within {_HELPER_SECONDS} seconds") from None
    if ran.returncode and not missing:
        raise Failed(f"{program} {verb} failed: {ran.stderr.strip()[:200]}")
    return "" if ran.returncode else ran.stdout


def _write(file: Path, config: Mapping[str, Any]) -> None:
    target = file.resolve()  # a link to a file elsewhere stays a link
    atomic_write.write_text(target, json.dumps(config, indent=2) + "\n", mode=0o600)
