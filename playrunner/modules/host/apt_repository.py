"""host.apt_repository: a source of Debian packages, in a list of /etc/apt."""

from __future__ import annotations

import os
import time

from playrunner.hostside.module import Failed
from playrunner.modules.host._apt_sources import Lists, file_for, ppa_source, source_of
from playrunner.modules.host._modes import mode_bits, octal
from playrunner.modules.host._packages import needed, program
from playrunner.modules.host._text_files import TextFiles, put_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

_PLAIN = {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
_LAUNCHPAD = "https://api.launchpad.net/1.0"
_KEY_SERVER = "hkp://keyserver.ubuntu.com:80"
_KEY_FOLDER = "/etc/apt/trusted.gpg.d"


class AptRepository(TextFiles):
    """A source of Debian packages, as a line in a list of /etc/apt."""

    aliases = {"update-cache": "update_cache"}
    repo: (
        str  # the line, such as "deb http://deb.debian.org/debian bookworm main", or ppa:OWNER/NAME
    )
    state: Literal["absent", "present"] = "present"  # whether it should be there
    mode: Any = None  # the mode of the list that it goes to
    update_cache: bool = True  # fetch the package lists after a change
    update_cache_retries: int = 5  # how often that is tried
    update_cache_retry_max_delay: int = 12  # seconds between two tries at most
    # The list in sources.list.d, without .list; made from the address when not given
    filename: str | None = None
    codename: str | None = None  # the release that a ppa: is taken for; this host's when not given
    install_python_apt: bool = True  # accepted for Ansible's sake; python3-apt is not needed
    validate_certs: bool = True  # with ppa: check the server's certificate

    def observe(self, ctx: HostContext) -> State | None:
        if not self.repo.strip():
            raise Failed("Please set argument 'repo' to a non-empty value")
        ctx.memory["lists"] = Lists(ctx)
        return {"files": dict(ctx.memory["lists"].texts())}

    def desired(self, ctx: HostContext, current: State | None) -> State | None:
        before = (current or {})["files"]
        lists: Lists = ctx.memory["lists"]
        if self.state == "present":
            after = lists.with_source(self._source(), self._file())
        else:
            after = lists.without_source(self._source())
        changed = {
            path: after.get(path)
            for path in sorted({*before, *after})
            if before.get(path) != after.get(path)
        }
        ctx.memory["forward"] = changed
        return {"files": changed}

    def file_attributes(self, path: str) -> State:
        current = 0o644
        return {} if self.mode is None else {"mode": octal(mode_bits(self.mode, current, False))}

    def apply(self, ctx: HostContext, change: Change) -> None:
        files = (change.after or {}).get("files")
        forward = files == ctx.memory.get("forward")
        folder = ctx.memory["lists"].folder
        if forward and self.state == "present":
            os.makedirs(folder, exist_ok=True)
            if self.repo.startswith("ppa:"):
                self._trust_ppa(ctx)
        super().apply(ctx, change)
        problem = self._update(ctx) if forward and self.update_cache else None
        if problem is not None:
            for path, text in ((change.before or {}).get("files") or {}).items():
                put_text(ctx, path, text, {})
            raise Failed(
                f"Failed to update apt cache after {self.update_cache_retries} retries: {problem}"
            )

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        after: dict[str, Any] = (change.after or {}).get("files", {})
        before: dict[str, Any] = (change.before or {}).get("files", {})
        return {
            "repo": self.repo,
            "state": self.state,
            "sources_added": [path for path in after if before.get(path) is None],
            "sources_removed": [path for path, text in after.items() if text is None],
        }

    def _source(self) -> str:
        if self.repo.startswith("ppa:"):
            return ppa_source(self.repo, self._codename())[0]
        return source_of(self.repo)

    def _file(self) -> str:
        if self.repo.startswith("ppa:"):
            return file_for(f"{self.repo}_{self._codename()}", self.filename)
        return file_for(self._source(), self.filename)

    def _codename(self) -> str:
        if self.codename:
            return self.codename
        from playrunner.modules.host._lines import read_lines

        for line in read_lines("/etc/os-release"):
            key, _, value = line.partition("=")
            if key == "VERSION_CODENAME":
                return value.strip("\"'")
        raise Failed("the host does not tell its release; give codename")

    def _update(self, ctx: HostContext) -> Optional[str]:
        """Fetch the package lists; what is wrong when they cannot be fetched."""
        problem = "unknown reason"
        for attempt in range(self.update_cache_retries):
            command = [needed("apt-get", "it belongs to apt"), "-q", "update", "--error-on=any"]
            ran = ctx.run(command, env=_PLAIN, live=True)
            if ran.rc == 0:
                return None
            problem = (ran.err or ran.out).strip()
            ctx.warn(f"Failed to update cache after {attempt + 1} tries: {problem}")
            time.sleep(min(2**attempt, self.update_cache_retry_max_delay))
        return problem

    def _trust_ppa(self, ctx: HostContext) -> None:
        """Have apt trust the key that signs a PPA."""
        import json

        from playrunner.modules.host._http import fetch

        _, owner, name = ppa_source(self.repo, self._codename())
        address = f"{_LAUNCHPAD}/~{owner}/+archive/{name}"
        answer = fetch(address, headers={"Accept": "application/json"}, verify=self.validate_certs)
        text = b"".join(answer.chunks())
        if answer.status != 200:
            raise Failed(f"failed to fetch PPA information, error was: {answer.said}")
        key = str(json.loads(text)["signing_key_fingerprint"])
        if not key.isalnum():
            raise Failed(f"the PPA's key has no fingerprint: {key}")
        tool = program("apt-key")
        path = os.path.join(_KEY_FOLDER, f"{owner}-{name}.gpg")
        command = (
            [tool, "adv", "--recv-keys", "--no-tty", "--keyserver", _KEY_SERVER, key]
            if tool
            else [
                needed("gpg", "apt checks signatures with it"),
                *("--no-default-keyring", "--keyring", f"gnupg-ring:{path}", "--no-tty"),
                *("--keyserver", _KEY_SERVER, "--recv-keys", key),
            ]
        )
        ran = ctx.run(command, env=_PLAIN)
        if ran.rc:
            raise Failed(f"Unable to get required signing key {key}: {ran.err.strip()}", rc=ran.rc)
