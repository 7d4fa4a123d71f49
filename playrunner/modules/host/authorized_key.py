"""host.authorized_key: who may log in as a user, by public key."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed
from playrunner.modules.host._content import refuse
from playrunner.modules.host._lines import LinesOfFile, split_quoted
from playrunner.modules.host._owners import group_name, set_attributes
from playrunner.modules.host._paths import make_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

KEY_TYPES = ("ssh-", "ecdsa-", "sk-")


class AuthorizedKey(LinesOfFile):
    """Public keys that may log in as a user; other lines of the file stay as they are."""

    user: str  # whose authorized_keys
    key: str  # the public key, several of them one per line, or an https address that lists them
    state: Literal["present", "absent"] = "present"  # whether the keys may log in
    exclusive: bool = False  # no other key may
    path: str | None = None  # the file, when it is not ~/.ssh/authorized_keys
    manage_dir: bool = True  # also keep the folder to its owner alone
    key_options: str | None = None  # what goes before the key, such as no-pty
    comment: str | None = None  # what goes behind it, instead of the key's own
    follow: bool = False  # accepted for Ansible's sake; a link is always followed

    def observe(self, ctx: HostContext) -> State | None:
        keys = ctx.memory["keys"] = [Line(text) for text in _key_lines(self.key)]
        for line in keys:
            if line.kind is None:
                raise Failed(f"invalid key specified: {line.text}")
            line.options = self.key_options if self.key_options is not None else line.options
            line.comment = self.comment if self.comment is not None else line.comment
        return super().observe(ctx)

    def file(self) -> str:
        return os.path.realpath(
            os.path.expanduser(self.path)
            if self.path
            else os.path.join(_account(self.user).pw_dir, ".ssh", "authorized_keys")
        )

    def edited(self, ctx: HostContext, lines: list[str]) -> list[str]:
        keys = {line.identity: line.written() for line in ctx.memory["keys"]}
        result = []
        for text in lines:
            line = Line(text)
            if line.identity in keys:
                # A key whose options or comment change goes to the end, as with Ansible.
                if (
                    self.state == "present"
                    and line.written() == keys[line.identity]
                    and text not in result
                ):
                    result.append(text)
            elif not (self.exclusive and self.state == "present"):
                result.append(text)
        if self.state == "present":
            result += [text for text in keys.values() if text not in result]
        return result

    def attributes(self, found: Optional[State]) -> State:
        return {"mode": "0600", "owner": self.user}

    def apply(self, ctx: HostContext, change: Change) -> None:
        folder = os.path.dirname(self.file())
        owner = {"owner": self.user, "group": group_name(_account(self.user).pw_gid)}
        try:
            if not os.path.isdir(folder):
                make_folders(folder, {"mode": "0700", **owner})
            elif self.manage_dir:
                set_attributes(folder, {"mode": "0700", **owner})
        except OSError as error:
            refuse(error, folder)
        super().apply(ctx, change)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        return {
            "user": self.user,
            "key": self.key,
            "keyfile": self.file(),
            "exclusive": self.exclusive,
            "key_options": self.key_options,
            "comment": self.comment,
            "path": self.path,
            "state": self.state,
        }


class Line:
    """One line of the file: options, type, key and comment, or text that is not a key at all."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.kind: Optional[str] = None
        self.options: Optional[str] = None
        words = [] if text.lstrip().startswith("#") else split_quoted(text.strip())
        for index, word in enumerate(words[:-1]):
            if word.startswith(KEY_TYPES) and words[index + 1].startswith("AAAA"):
                self.options, self.kind, self.key = " ".join(words[:index]), word, words[index + 1]
                self.comment = " ".join(words[index + 2 :])
                return

    @property
    def identity(self) -> tuple[str, str]:
        return (self.kind, self.key) if self.kind else ("text", self.text)

    def written(self) -> str:
        return " ".join(part for part in (self.options, self.kind, self.key, self.comment) if part)


def _key_lines(key: str) -> list[str]:
    if key.startswith(("http://", "https://")):
        from urllib.request import urlopen

        try:
            with urlopen(key, timeout=30) as answer:
                key = answer.read().decode()
        except OSError as error:
            raise Failed(f"keys cannot be fetched from {key}: {error}") from None
    lines = [line.strip() for line in key.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def _account(user: str) -> Any:
    import pwd

    try:
        return pwd.getpwnam(user)
    except KeyError:
        raise Failed(
            f"Failed to lookup user {user}; create it first with the user module"
        ) from None
