"""host.mount_facts: what is mounted on the host, and what its tables say should be."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed, Probe
from playrunner.modules.host._mount_tables import entries_of_file, entries_of_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext

    Mount = dict[str, Any]

STATIC = ("/etc/fstab", "/etc/vfstab", "/etc/filesystems")
DYNAMIC = ("/etc/mtab", "/proc/mounts", "/etc/mnttab")


class MountFacts(Probe):
    """Mounts from the kernel's and the host's tables, as the fact `mount_points`."""

    gives_facts = True
    plain_facts = ("mount_points", "aggregate_mounts")
    # Where to look: all, dynamic (what is mounted), static (fstab), mount, or paths of tables
    sources: list[str] | None = None
    devices: list[str] | None = None  # only devices that match these globs
    fstypes: list[str] | None = None  # only file systems that match these globs
    mount_binary: Any = "mount"  # the program to ask where no table tells what is mounted
    timeout: float | None = None  # seconds that one mount may take to tell its size
    on_timeout: Literal["error", "warn", "ignore"] = "error"  # what then happens
    # Also list what is mounted below something else, as `aggregate_mounts`
    include_aggregate_mounts: bool | None = None

    def look(self, ctx: HostContext) -> dict[str, Any]:
        if self.timeout is not None and self.timeout <= 0:
            raise Failed(
                f"argument 'timeout' must be a positive number or null, not {self.timeout}"
            )
        if self.mount_binary is not None and not isinstance(self.mount_binary, str):
            raise Failed(
                f"argument 'mount_binary' must be a string or null, not {self.mount_binary}"
            )
        mounts = [
            described
            for source, mount in self._mounts(ctx)
            if (described := self._described(ctx, source, mount))
        ]
        points: dict[str, Mount] = {}
        for mount in mounts:
            points.setdefault(mount["mount"], mount)
        self._warn_about_repeats(ctx, mounts)
        return {
            "ansible_facts": {
                "mount_points": points,
                "aggregate_mounts": mounts if self.include_aggregate_mounts else [],
            }
        }

    def _mounts(self, ctx: HostContext) -> list[tuple[str, Mount]]:
        sources = self._sources()
        if len(set(sources)) < len(sources):
            ctx.warn(
                "mount_facts option 'sources' contains duplicate entries, repeat sources will be"
                f" ignored: {sources}"
            )
        mounts: list[tuple[str, Mount]] = []
        seen: set[str] = set()
        ask = bool(self.mount_binary) and not set(sources).isdisjoint(DYNAMIC)
        for source in sources:
            real = source if source == "mount" else os.path.realpath(source)
            if source in seen or real in seen:
                continue
            seen.add(real)
            entries = self._ask(ctx) if source == "mount" else entries_of_file(source)
            ask = ask and not (entries and source in ("mount", *DYNAMIC))
            mounts += [(source, entry) for entry in entries]
        return mounts + ([("mount", entry) for entry in self._ask(ctx)] if ask else [])

    def _sources(self) -> list[str]:
        sources: list[str] = []
        for source in self.sources or ["all"]:
            if not source:
                raise Failed("sources contains an empty string")
            sources += DYNAMIC if source in ("dynamic", "all") else ()
            sources += STATIC if source in ("static", "all") else ()
            sources += [source] if source not in ("dynamic", "static", "all") else []
        return sources

    def _ask(self, ctx: HostContext) -> list[Mount]:
        try:
            return entries_of_program(ctx, str(self.mount_binary), self.timeout)
        except TimeoutError as error:
            self._late(ctx, str(error))
            return []

    def _described(self, ctx: HostContext, source: str, entry: Mount) -> Optional[Mount]:
        """The entry with its size and its UUID; None when it was not asked for."""
        from fnmatch import fnmatch

        origin, mount = entry["line"], dict(entry["fields"])
        device, uuid = mount["device"], None
        if device.startswith("UUID="):
            uuid = device.partition("=")[2]
            link = f"/dev/disk/by-uuid/{uuid}"
            device = os.path.realpath(link) if os.path.exists(link) else device
        if not any(fnmatch(device, pattern) for pattern in self.devices or ["*"]):
            return None
        if not any(fnmatch(mount["fstype"], pattern) for pattern in self.fstypes or ["*"]):
            return None
        mount.update(self._size(ctx, mount))
        return {
            **mount,
            "ansible_context": {"source": source, "source_data": origin},
            "uuid": uuid or _uuid_of(device),
        }

    def _size(self, ctx: HostContext, mount: Mount) -> dict[str, int]:
        from playrunner.modules.host._facts_hardware import size_of

        if self.timeout is None:
            return size_of(mount["mount"])
        import threading

        sizes: list[dict[str, int]] = []
        # A server that is gone blocks the question for ever; only the thread waits for it then.
        asking = threading.Thread(target=lambda: sizes.append(size_of(mount["mount"])), daemon=True)
        asking.start()
        asking.join(self.timeout)
        if sizes:
            return sizes[0]
        place = f"{mount['mount']} (type {mount['fstype']})"
        self._late(ctx, f"Timed out getting mount size for mount {place}")
        return {}

    def _late(self, ctx: HostContext, message: str) -> None:
        if self.on_timeout == "error":
            raise Failed(message)
        if self.on_timeout == "warn":
            ctx.warn(message)

    def _warn_about_repeats(self, ctx: HostContext, mounts: list[Mount]) -> None:
        if self.include_aggregate_mounts is not None:
            return
        by_source: dict[str, list[str]] = {}
        for mount in mounts:
            by_source.setdefault(mount["ansible_context"]["source"], []).append(mount["mount"])
        repeated = [name for name, points in by_source.items() if len(set(points)) != len(points)]
        if repeated:
            ctx.warn(
                f"mount_facts: repeat mounts in {', '.join(repeated)} are left out; set"
                " include_aggregate_mounts to have them, or to false to silence this"
            )


def _uuid_of(device: str) -> Optional[str]:
    folder = "/dev/disk/by-uuid"
    if not os.path.isdir(folder):
        return None
    for name in os.listdir(folder):
        if os.path.realpath(os.path.join(folder, name)) == device:
            return name
    return None
