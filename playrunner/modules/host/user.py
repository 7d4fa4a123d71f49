"""host.user: an account on the host."""

from __future__ import annotations

import os

from playrunner.hostside.module import Module
from playrunner.modules.host._accounts import (
    fingerprint,
    group_called,
    group_number,
    groups_of,
    run_tool,
    shadow_columns,
)
from playrunner.modules.host._libuser import set_local
from playrunner.modules.host._paths import expanded
from playrunner.modules.host._shadow import AGING, day_of, looks_hashed, shadow_state
from playrunner.modules.host._user_home import make_home
from playrunner.modules.host._user_key import UserKey

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
    expires: float | None = None  # when the account ends, in seconds since 1970; negative: never
    password_lock: bool | None = None  # no login with the password
    password_expire_min: int | None = None  # days before a password may be changed again
    password_expire_max: int | None = None  # days after which a password must be changed
    password_expire_warn: int | None = None  # days of warning before that
    password_expire_account_disable: int | None = None  # days after that until the account ends
    skeleton: str | None = None  # a folder whose files a new home gets
    umask: str | None = None  # the umask for a new home
    uid_min: int | None = None  # the least number for a new account
    uid_max: int | None = None  # the highest number for a new account
    seuser: str | None = None  # its user in SELinux
    local: bool = False  # use libuser's tools, where accounts come from a directory service too
    generate_ssh_key: bool = False  # make a key in its home when there is none
    ssh_key_bits: int | None = None  # how long that key is
    ssh_key_type: str = "rsa"  # its kind, as ssh-keygen names it
    ssh_key_file: str | None = None  # where it is, below the home; .ssh/id_TYPE when not given
    ssh_key_comment: str = "ansible-generated on $HOSTNAME"  # the remark in it
    ssh_key_passphrase: str | None = None  # what protects it
    hidden: bool | None = None  # has a meaning on macOS only
    profile: str | None = None  # has a meaning on Solaris only
    authorization: str | None = None  # has a meaning on Solaris only
    role: str | None = None  # has a meaning on Solaris only
    login_class: str | None = None  # has a meaning on BSD only

    def observe(self, ctx: HostContext) -> State | None:
        import pwd

        try:
            account = pwd.getpwnam(self.name)
        except KeyError:
            return None
        columns = shadow_columns(self.name) if self._ages() or self.password is not None else None
        key = self._key(account.pw_dir)
        home = expanded(self.home or account.pw_dir)
        return {
            "uid": account.pw_uid,
            "group": account.pw_gid,
            "groups": groups_of(self.name, account.pw_gid),
            "home": account.pw_dir,
            "shell": account.pw_shell,
            "comment": account.pw_gecos,
            **(
                {"password": _mark(columns[1] if columns else None)}
                if self.password is not None
                else {}
            ),
            **(shadow_state(columns) if self._ages() else {}),
            **({"ssh_key": _there(key.exists())} if key else {}),
            **({"home_folder": _there(os.path.exists(home))} if self.create_home else {}),
        }

    def desired(self, ctx: HostContext, current: State | None) -> State | None:
        if self.state == "absent":
            return None
        target: State = {key: getattr(self, key) for key in FLAGS if getattr(self, key) is not None}
        for name in ("home", "shell"):
            if target.get(name):
                target[name] = expanded(target[name])
        if self.group is not None:
            target["group"] = group_number(self.group)
        if self.groups is not None:
            named = {group_called(str(group)) for group in self.groups if str(group)}
            target["groups"] = sorted(
                named | set(current["groups"] if current and self.append else [])
            )
        if self.append and self.groups is None:
            ctx.warn("'append' is set, but no 'groups' are specified. Use 'groups' to add some")
        if self.password is not None and (current is None or self.update_password == "always"):
            self._warn_about_plain_text(ctx)
            target["password"] = _mark(self.password)
        if self.generate_ssh_key:
            target["ssh_key"] = "made afresh" if self.force else "there"
        if self.create_home and current is not None:
            target["home_folder"] = "there"
        return {**target, **self._ages()}

    def _ages(self) -> State:
        """What /etc/shadow should say beside the password."""
        asked: State = {
            name: getattr(self, name) for name in AGING if getattr(self, name) is not None
        }
        if self.expires is not None:
            asked["expires"] = day_of(self.expires)
        if self.password_lock is not None:
            asked["locked"] = self.password_lock
        return asked

    def _key(self, home: str) -> UserKey | None:
        return (
            UserKey(home, self.ssh_key_type, self.ssh_key_file) if self.generate_ssh_key else None
        )

    def apply(self, ctx: HostContext, change: Change) -> None:
        after, before = change.after, change.before
        if after is None:
            run_tool(
                ctx,
                [
                    self._tool("userdel"),
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
        if "groups" in differing and (before or differing["groups"]) and not self.local:
            arguments += ["-G", ",".join(differing["groups"])]
        if "expires" in differing and not self.local:
            arguments += ["-e", differing["expires"]]
        arguments += ["-Z", self.seuser] if self.seuser and (arguments or before is None) else []
        if before is None:
            run_tool(
                ctx, [self._tool("useradd"), *arguments, *self._new_account_words(), self.name]
            )
        elif arguments:
            run_tool(
                ctx,
                [
                    self._tool("usermod"),
                    *arguments,
                    *(["-m"] if self.move_home and "home" in differing else []),
                    self.name,
                ],
            )
        if self.local:
            set_local(ctx, self.name, before or {}, differing)
        if self.password is not None and differing.get("password") == _mark(self.password):
            # Not usermod -p: arguments can be read by everyone on the host.
            run_tool(ctx, ["chpasswd", "-e"], stdin=f"{self.name}:{self.password}\n")
        self._apply_shadow(ctx, differing, before is None)
        if "home_folder" in differing:
            self._make_home()
        if differing.get("ssh_key", "missing") != "missing":
            self._make_key(ctx)

    def _apply_shadow(self, ctx: HostContext, differing: State, is_new: bool) -> None:
        ages = [
            word
            for name, (_, flag) in AGING.items()
            if name in differing
            for word in (flag, "-1" if differing[name] is None else str(differing[name]))
        ]
        if ages:
            run_tool(ctx, ["chage", *ages, self.name])
        # A new account without a password is locked anyway.
        if "locked" in differing and (self.password is not None or not is_new):
            columns = shadow_columns(self.name)
            if columns and columns[1].startswith("!") != differing["locked"]:
                run_tool(ctx, ["usermod", "-L" if differing["locked"] else "-U", self.name])

    def _make_home(self) -> None:
        import pwd

        account = pwd.getpwnam(self.name)
        if not os.path.exists(account.pw_dir):  # it may have been moved there
            make_home(account.pw_dir, (account.pw_uid, account.pw_gid), self.skeleton)

    def _make_key(self, ctx: HostContext) -> None:
        import pwd
        import socket

        account = pwd.getpwnam(self.name)
        key = self._key(account.pw_dir)
        if key is None or (key.exists() and not self.force):
            return  # a new account may get a home that is there
        comment = self.ssh_key_comment.replace("$HOSTNAME", socket.gethostname())
        owner = (account.pw_uid, account.pw_gid)
        key.make(ctx, owner, self.ssh_key_bits, comment, self.ssh_key_passphrase)

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
        key = self._key(account["home"])
        for name in ("locked", "expires", "ssh_key", "home_folder", *AGING):
            account.pop(name, None)
        return {
            **values,
            **account,
            **(key.shown(ctx) if key else {}),
            **groups,
            **kind,
            **({"password": "NOT_LOGGING_PASSWORD"} if self.password else {}),
            **({} if groups else {"groups": ",".join(account["groups"])}),
        }

    def _new_account_words(self) -> list[str]:
        import grp

        words = ["-M"] if not self.create_home else [] if self.local else ["-m"]
        words += ["-r"] if self.system else []
        words += ["-k", self.skeleton] if self.skeleton and self.create_home else []
        for name, value in (
            ("UMASK", self.umask),
            ("UID_MIN", self.uid_min),
            ("UID_MAX", self.uid_max),
        ):
            words += ["-K", f"{name}={value}"] if value is not None else []
        if self.group is None and any(group.gr_name == self.name for group in grp.getgrall()):
            words.append(
                "-n" if self.local else "-N"
            )  # useradd refuses to make a group that is there already
        return words

    def _tool(self, name: str) -> str:
        return f"l{name}" if self.local else name

    def _warn_about_plain_text(self, ctx: HostContext) -> None:
        password = self.password or ""
        if password not in ("", "*", "!") and not looks_hashed(password.lstrip("!")):
            ctx.warn(
                "The input password appears not to have been hashed; give what is to stand in"
                " /etc/shadow, for instance made with the password_hash filter"
            )


def _mark(password: str | None) -> str | None:
    """What tells passwords apart; a lock before it (!) does not count."""
    return fingerprint(None if password is None else password.lstrip("!"))


def _there(is_there: bool) -> str:
    return "there" if is_there else "missing"
