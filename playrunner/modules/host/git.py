"""host.git: a working copy of a git repository, at one version."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host._modes import umask_of
from playrunner.modules.host._packages import needed
from playrunner.modules.host._paths import expanded, remove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State


class Git(Module):
    """A working copy of a git repository, at one version."""

    aliases = {"name": "repo", "gpg_whitelist": "gpg_allowlist"}
    repo: str  # where it comes from
    dest: str | None = None  # where the copy is; not needed with clone: no
    version: str = "HEAD"  # a branch, a tag, a commit, or HEAD for the repository's main branch
    remote: str = "origin"  # what the copy calls the repository
    force: bool = False  # throw local changes away
    update: bool = True  # fetch newer versions into a copy that is there
    clone: bool = True  # make the copy when it is not there
    depth: int | None = None  # how many commits of history to have
    single_branch: bool = False  # only the branch asked for
    recursive: bool = True  # submodules too
    bare: bool = False  # the repository alone, without files checked out
    key_file: str | None = None  # the private key to log in with
    ssh_opts: str | None = None  # further options for ssh
    accept_hostkey: bool = False  # trust whatever key the server shows
    accept_newhostkey: bool = False  # trust the key of a server never seen before
    executable: str | None = None  # the git to use
    refspec: str | None = None  # further references to fetch
    reference: str | None = None  # a repository on the host to take objects from
    separate_git_dir: str | None = None  # where git's own folder is, when not in dest
    track_submodules: bool = False  # submodules at the newest commit of their branch
    umask: str | None = None  # the umask for what is checked out, such as "0022"
    verify_commit: bool = False  # refuse a commit or tag without a good signature
    gpg_allowlist: list[str] = []  # fingerprints of keys that count as good
    archive: str | None = None  # also pack the files into this .zip, .tar, .tar.gz or .tgz
    archive_prefix: str | None = None  # a folder that they have in there

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        if not arguments.get("dest") and arguments.get("clone", True):
            return "the destination directory must be specified unless clone=no"
        return None

    @property
    def _git(self) -> str:
        remedy = "install it first, for instance with package: name=git"
        return self.executable or needed("git", remedy)

    @property
    def _dest(self) -> str:
        return expanded(self.dest or "")

    def observe(self, ctx: HostContext) -> State | None:
        if not self.dest or not os.path.exists(
            os.path.join(self._dest, "HEAD" if self.bare else ".git")
        ):
            return None
        return {
            "commit": self._commit_here(ctx),
            "modified": (
                not self.bare
                and bool(self._ask(ctx, "status", "--porcelain", "--untracked-files=no"))
            ),
            "url": self._ask(ctx, "config", "--get", f"remote.{self.remote}.url"),
        }

    def desired(self, ctx: HostContext, current: State | None) -> State | None:
        if current is None:
            return {"commit": self._commit_there(ctx), "modified": False, "url": self.repo}
        if not self.update:
            return {}
        if current["modified"] and not self.force:
            raise Failed(
                f"Local modifications exist in the destination: {self._dest} (force=no). "
                "Commit them there, or set force",
                before=current["commit"],
            )
        ctx.memory["heads"] = {}
        commit = self._resolved_here(current["commit"]) or self._commit_there(ctx)
        return {"commit": commit, "modified": False, "url": self.repo}

    def apply(self, ctx: HostContext, change: Change) -> None:
        if change.after is None:
            remove(self._dest)
            return
        if "heads" not in ctx.memory:  # an earlier state is put back: its commit is here already
            self._do(ctx, "reset", "--hard", change.after["commit"])
            return
        if change.observed is None:
            if not self.clone:
                return
            self._clone(ctx)
        else:
            self._fetch(ctx, change)
        if self.verify_commit:
            self._verify(ctx)
        if not self.bare:
            self._check_out(ctx)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        before = (change.observed or {}).get("commit")
        after = (change.after or {}).get("commit", before)
        if change and not ctx.check and change.after and (self.clone or before):
            after = self._commit_here(ctx)
        values: dict[str, Any] = {"before": before, "after": after}
        if change.observed and self.update:
            values["remote_url_changed"] = change.touches("url")
            values["changed"] = before != after or change.touches("modified", "url")
        if self.archive and not ctx.check and os.path.isdir(self._dest):
            self._pack(ctx, values, bool(change))
        return values

    def _pack(self, ctx: HostContext, values: dict[str, Any], changed: bool) -> None:
        from playrunner.modules.host._git_archive import pack

        words = [self._git, "-C", self._dest]
        packed = pack(ctx, words, self.archive or "", self.version, self.archive_prefix)
        values["archive"] = expanded(self.archive or "")
        values["changed"] = bool(values.get("changed", changed)) or packed

    def _verify(self, ctx: HostContext) -> None:
        """Refuse a version without a good signature of somebody who is listed."""
        tag = f"refs/tags/{self.version}" in ctx.memory["heads"]
        branch = f"{self.remote}/{self.version}" if self._is_branch(ctx) else self.version
        target = self.version if tag else "FETCH_HEAD" if self.version == "HEAD" else branch
        verb = "verify-tag" if tag else "verify-commit"
        target = f"{self.remote}/HEAD" if target == "FETCH_HEAD" else target
        ran = ctx.run(
            [self._git, verb, target, *(["--raw"] if self.gpg_allowlist else [])],
            cwd=self._dest,
            env=self._environment(),
        )
        good = [
            line.split()[2]
            for line in ran.err.splitlines()
            if line.startswith("[GNUPG:] VALIDSIG ") and len(line.split()) > 2
        ]
        if ran.rc or (self.gpg_allowlist and not set(good) & set(self.gpg_allowlist)):
            raise Failed(
                f'Failed to verify GPG signature of commit/tag "{self.version}"',
                rc=ran.rc,
                stdout=ran.out,
                stderr=ran.err,
            )

    def _commit_here(self, ctx: HostContext) -> str | None:
        return self._ask(ctx, "rev-parse", "--verify", "-q", "HEAD") or None

    def _resolved_here(self, commit: str | None) -> str | None:
        """The commit when the version asked for is that very commit, whole or shortened."""
        shortened = len(self.version) >= 7 and all(
            sign in "0123456789abcdef" for sign in self.version
        )
        return commit if commit and shortened and commit.startswith(self.version) else None

    def _commit_there(self, ctx: HostContext) -> str:
        """What the version means at the repository; a commit that is not the tip of anything stands
        for itself."""
        ran = self._run(ctx, ["ls-remote", self.repo], None)
        pairs = [line.split("\t") for line in ran.out.splitlines()]
        heads: dict[str, str] = {name: commit for commit, name in pairs}
        ctx.memory["heads"] = heads
        branch = self.version if self.version == "HEAD" else f"refs/heads/{self.version}"
        for name in (
            branch,
            f"refs/tags/{self.version}^{{}}",
            f"refs/tags/{self.version}",
            self.version,
        ):
            if name in heads:
                return heads[name]
        if self.version == "HEAD":
            raise Failed(
                f"Could not determine remote revision for HEAD of {self.repo}: it has no"
                " commits yet"
            )
        return self.version

    def _is_branch(self, ctx: HostContext) -> bool:
        return f"refs/heads/{self.version}" in ctx.memory["heads"]

    def _clone(self, ctx: HostContext) -> None:
        arguments = ["clone", "--origin", self.remote]
        arguments += ["--bare"] if self.bare else []
        arguments += ["--no-checkout"] if not self.bare else []
        arguments += ["--depth", str(self.depth)] if self.depth else []
        arguments += ["--single-branch"] if self.single_branch else []
        arguments += ["--reference", expanded(self.reference)] if self.reference else []
        if self.separate_git_dir:
            arguments.append(f"--separate-git-dir={expanded(self.separate_git_dir)}")
        if self._is_branch(ctx) or f"refs/tags/{self.version}" in ctx.memory["heads"]:
            arguments += ["--branch", self.version]
        os.makedirs(os.path.dirname(self._dest.rstrip("/")) or "/", exist_ok=True)
        self._run(ctx, [*arguments, self.repo, self._dest], None)
        if self.refspec:
            self._do(ctx, "fetch", *self._depth(), self.remote, self.refspec)

    def _depth(self) -> list[str]:
        return ["--depth", str(self.depth)] if self.depth else []

    def _fetch(self, ctx: HostContext, change: Change) -> None:
        if change.touches("url"):
            self._do(ctx, "remote", "set-url", self.remote, self.repo)
        if change.touches("modified"):
            self._do(ctx, "reset", "--hard")
        arguments = [
            "fetch",
            "--force",
            "--tags",
            *(["--depth", str(self.depth)] if self.depth else []),
            self.remote,
        ]
        if self.bare:
            arguments.append("+refs/heads/*:refs/heads/*")
        elif self._is_branch(ctx):
            arguments.append(
                f"+refs/heads/{self.version}:refs/remotes/{self.remote}/{self.version}"
            )
        else:
            arguments.append(f"+refs/heads/*:refs/remotes/{self.remote}/*")
        arguments += [self.refspec] if self.refspec else []
        self._do(ctx, *arguments)

    def _check_out(self, ctx: HostContext) -> None:
        branch = (
            self.version
            if self._is_branch(ctx)
            else self._main_branch(ctx)
            if self.version == "HEAD"
            else None
        )
        if branch:
            self._do(ctx, "checkout", "--force", "-B", branch, "--track", f"{self.remote}/{branch}")
        else:
            if self.depth and not self._ask(
                ctx, "rev-parse", "-q", "--verify", f"{self.version}^{{commit}}"
            ):
                self._do(ctx, "fetch", "--depth", str(self.depth), self.remote, self.version)
            self._do(ctx, "checkout", "--force", "--detach", self.version)
        if self.recursive and os.path.exists(os.path.join(self._dest, ".gitmodules")):
            self._do(ctx, "submodule", "sync", "--recursive")
            words = ["--remote"] if self.track_submodules else []
            words += ["--force"] if self.force else []
            self._do(ctx, "submodule", "update", "--init", "--recursive", *words)

    def _main_branch(self, ctx: HostContext) -> str:
        ran = self._run(ctx, ["ls-remote", "--symref", self.repo, "HEAD"], None)
        words = ran.out.split()
        return words[1].rpartition("refs/heads/")[2] if words[:1] == ["ref:"] else "master"

    def _ask(self, ctx: HostContext, *words: str) -> str:
        return str(
            ctx.run([self._git, *words], cwd=self._dest, env=self._environment()).out.strip()
        )

    def _do(self, ctx: HostContext, *words: str) -> None:
        self._run(ctx, list(words), self._dest)

    def _run(self, ctx: HostContext, arguments: list[str], folder: str | None) -> Any:
        ran = ctx.run(
            [self._git, *arguments],
            cwd=folder,
            env=self._environment(),
            live=arguments[0] == "clone",
            umask=umask_of(self.umask),
        )
        if ran.rc:
            what = f"Failed to checkout {self.version}: " if arguments[0] == "checkout" else ""
            raise Failed(
                what + (ran.err or ran.out).strip(),
                rc=ran.rc,
                cmd=" ".join([self._git, *arguments]),
                stdout=ran.out,
                stderr=ran.err,
            )
        return ran

    def _environment(self) -> dict[str, str]:
        from playrunner.modules.host._git_ssh import ssh_command

        command = ssh_command(
            self.key_file, self.accept_hostkey, self.accept_newhostkey, self.ssh_opts
        )
        return {"GIT_SSH_COMMAND": command, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
