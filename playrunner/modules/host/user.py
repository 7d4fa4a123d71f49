"""host.user: an account on the host."""

from __future__ import annotations

from playrunner.hostside.module import Module
from playrunner.modules.host._accounts import (
    fingerprint,
    group_called,
    group_number,
    groups_of,
    run_tool,
    shadow_hash,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

FLAGS = {"uid": "-u", "comment": "-c", "home": "-d", "shell": "-s"}


class User(Module):
    """An account on the host."""

    aliases = {"user": "name", "createhome": "create_home"}
    name: str  # the account
    uid: int | None = None  # its number
    group: str | None = None  # its first group
    groups: list[Any] | None = None  # its other groups; an empty list takes it out of all
    append: bool = False  # keep groups that are not named
    home: str | None = None  # its home
    create_home: bool = True  # make the home of a new account
    move_home: bool = False  # move what is in the home when it changes
    shell: str | None = None  # its login shell
    system: bool = False  # give a new account a number from the system's range
    state: Literal["present", "absent"] = "present"  # whether it should exist
    remove: bool = False  # with absent, remove its home too
    force: bool = False  # with absent, remove it even while it is logged in
    comment: str | None = None  # its full name
    password: str | None = None  # its password, hashed as in /etc/shadow
    # Whether the password of an account that exists is kept
    update_password: Literal["always", "on_create"] = "always"
    non_unique: bool = False  # the number may belong to another account too

    def observe(self, ctx: HostContext) -> State | None:
        import pwd

        try:
            account = pwd.getpwnam(self.name)
        except KeyError:
            return None
        return {
            "uid": account.pw_uid,
            "group": account.pw_gid,
            "groups": groups_of(self.name, account.pw_gid),
            "home": account.pw_dir,
            "shell": account.pw_shell,
            "comment": account.pw_gecos,
            **(
                {"password": fingerprint(shadow_hash(self.name))}
                if self.password is not None
                else {}
            ),
        }

    def desired(self, ctx: HostContext, current: State | None) -> State | None:
        if self.state == "absent":
            return None
        target: State = {key: getattr(self, key) for key in FLAGS if getattr(self, key) is not None}
        if self.group is not None:
            target["group"] = group_number(self.group)
        if self.groups is not None:
            named = {group_called(str(group)) for group in self.groups if str(group)}
            target["groups"] = sorted(
                named | set(current["groups"] if current and self.append else [])
            )
        if self.password is not None and (current is None or self.update_password == "always"):
            self._warn_about_plain_text(ctx)
            target["password"] = fingerprint(self.password)
        return target

    def apply(self, ctx: HostContext, change: Change) -> None:
        after, before = change.after, change.before
        if after is None:
            run_tool(
                ctx,
                [
                    "userdel",
                    *(["-r"] if self.remove else []),
                    *(["-f"] if self.force else []),
                    self.name,
                ],
            )
            return
        differing = {
            key: value for key, value in after.items() if before is None or before.get(key) != value
        }
        arguments = [
            word
            for key, flag in FLAGS.items()
            if key in differing
            for word in (flag, str(differing[key]))
        ]
        arguments += ["-o"] if self.non_unique and "uid" in differing else []
        arguments += ["-g", str(differing["group"])] if "group" in differing else []
        if "groups" in differing and (before or differing["groups"]):
            arguments += ["-G", ",".join(differing["groups"])]
        if before is None:
            run_tool(ctx, ["useradd", *arguments, *self._new_account_words(), self.name])
        elif arguments:
            run_tool(
                ctx,
                [
                    "usermod",
                    *arguments,
                    *(["-m"] if self.move_home and "home" in differing else []),
                    self.name,
                ],
            )
        if self.password is not None and differing.get("password") == fingerprint(self.password):
            # Not usermod -p: arguments can be read by everyone on the host.
            run_tool(ctx, ["chpasswd", "-e"], stdin=f"{self.name}:{self.password}\n")

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        values: dict[str, Any] = {"name": self.name, "state": self.state}
        account = self.observe(ctx) if self.state == "present" else None
        if account is None:
            return (
                {**values, "remove": self.remove, "force": self.force}
                if self.state == "absent" and change
                else values
            )
        groups = (
            {} if self.groups is None else {"groups": ",".join(str(group) for group in self.groups)}
        )
        kind = (
            {"system": self.system, "create_home": self.create_home}
            if change.creates
            else {"append": self.append, "move_home": self.move_home}
        )
        return {
            **values,
            **account,
            **groups,
            **kind,
            **({"password": "NOT_LOGGING_PASSWORD"} if self.password else {}),
            **({} if groups else {"groups": ",".join(account["groups"])}),
        }

    def _new_account_words(self) -> list[str]:
        import grp

        words = ["-m"] if self.create_home else ["-M"]
        words += ["-r"] if self.system else []
        if self.group is None and any(group.gr_name == self.name for group in grp.getgrall()):
            words.append("-N")  # useradd refuses to make a group that is there already
        return words

    def _warn_about_plain_text(self, ctx: HostContext) -> None:
        password = self.password or ""
        if (
            password not in ("", "*", "!")
            and not (password.lstrip("!").startswith("$") and len(password) > 30)
            and len(password.lstrip("!")) != 13
        ):
            ctx.warn(
                "The input password appears not to have been hashed; give what is to stand in"
                " /etc/shadow, for instance made with the password_hash filter"
            )
