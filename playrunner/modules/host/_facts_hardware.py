"""Facts of processors, memory, file systems and disks, from /proc and /sys."""

from __future__ import annotations

import os

from playrunner.modules.host._facts_system import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DMI = {
    "bios_date": "bios_date",
    "bios_vendor": "bios_vendor",
    "bios_version": "bios_version",
    "board_asset_tag": "board_asset_tag",
    "board_name": "board_name",
    "board_serial": "board_serial",
    "board_vendor": "board_vendor",
    "board_version": "board_version",
    "chassis_asset_tag": "chassis_asset_tag",
    "chassis_serial": "chassis_serial",
    "chassis_vendor": "chassis_vendor",
    "chassis_version": "chassis_version",
    "product_name": "product_name",
    "product_serial": "product_serial",
    "product_uuid": "product_uuid",
    "product_version": "product_version",
    "system_vendor": "sys_vendor",
}
MODEL_NAMES = ("model name", "Model", "vendor_id", "cpu", "Vendor", "Processor", "processor")
NOT_A_DISK = ("ram", "fd")


def gathered() -> dict[str, Any]:
    if not os.path.isdir("/proc/self"):
        return {
            "processor_vcpus": os.cpu_count(),
            "processor_nproc": os.cpu_count(),
            "processor_count": os.cpu_count(),
        }
    uptime = text_of("/proc/uptime").split()
    return {
        **processors(),
        **memory(),
        "mounts": mounts(),
        **disks(),
        **_dmi(),
        "uptime_seconds": int(float(uptime[0])) if uptime else None,
    }


def processors() -> dict[str, Any]:
    models: list[str] = []
    sockets: dict[str, int] = {}
    cores: dict[str, int] = {}
    here, siblings = "", 1
    for line in text_of("/proc/cpuinfo").splitlines():
        name, _, value = (part.strip() for part in line.partition(":"))
        if name in MODEL_NAMES:
            models.append(value)
        elif name == "physical id":
            here = value
            sockets[here] = sockets.get(here, 0) + 1
        elif name == "cpu cores":
            cores[here] = int(value)
        elif name == "siblings":
            siblings = int(value)
    threads = os.cpu_count() or 1
    if sockets:
        count, each = len(sockets), next(iter(cores.values()), 1)
        per_core = max(siblings // each, 1)
    else:
        count, each, per_core = threads, 1, 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else threads
    return {
        "processor": models,
        "processor_count": count,
        "processor_cores": each,
        "processor_threads_per_core": per_core,
        "processor_vcpus": per_core * count * each,
        "processor_nproc": usable,
    }


def memory() -> dict[str, Any]:
    by_name = {}
    for line in text_of("/proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        by_name[name] = int(value.split()[0]) // 1024
    total, free, swap, swap_free = (
        by_name.get(name, 0) for name in ("MemTotal", "MemFree", "SwapTotal", "SwapFree")
    )
    reclaimable = free + by_name.get("Cached", 0) + by_name.get("Buffers", 0)
    return {
        "memtotal_mb": total,
        "memfree_mb": free,
        "swaptotal_mb": swap,
        "swapfree_mb": swap_free,
        "memory_mb": {
            "real": {"total": total, "free": free, "used": total - free},
            "nocache": {"free": reclaimable, "used": total - reclaimable},
            "swap": {
                "total": swap,
                "free": swap_free,
                "used": swap - swap_free,
                "cached": by_name.get("SwapCached", 0),
            },
        },
    }


def mounts() -> list[dict[str, Any]]:
    """Mounted file systems that hold something: devices, and what comes over the network."""
    ids = _by_target("/dev/disk/by-uuid")
    entries = []
    for line in text_of("/proc/mounts").splitlines():
        fields = line.split()
        if (
            len(fields) < 6
            or not (fields[0].startswith(("/", "\\")) or ":/" in fields[0])
            or fields[2] == "none"
        ):
            continue
        device, mount_point = (field.replace(r"\040", " ") for field in fields[:2])
        entry: dict[str, Any] = {
            "device": device,
            "mount": mount_point,
            "fstype": fields[2],
            "options": fields[3],
            "dump": int(fields[4]),
            "passno": int(fields[5]),
            "uuid": ids.get(os.path.realpath(device), "N/A"),
        }
        # A server that is gone would hold us up for minutes, so remote sizes are not asked for.
        entries.append(entry if ":/" in device else {**entry, **size_of(mount_point)})
    return entries


def disks() -> dict[str, Any]:
    links = {
        key: _links(folder)
        for key, folder in (("ids", "by-id"), ("uuids", "by-uuid"), ("labels", "by-label"))
    }
    links["masters"] = {}
    devices = {}
    for name in _folder("/sys/block"):
        if name.startswith(NOT_A_DISK):
            continue
        base = f"/sys/block/{name}"
        sectors, width = (
            _number(f"{base}/size"),
            text_of(f"{base}/queue/logical_block_size") or "512",
        )
        devices[name] = {
            "virtual": 1
            if "/virtual/" in _link_of(base) or not os.path.exists(f"{base}/device/model")
            else 0,
            "vendor": text_of(f"{base}/device/vendor") or None,
            "model": text_of(f"{base}/device/model") or None,
            "sas_address": text_of(f"{base}/device/sas_address") or None,
            "sas_device_handle": text_of(f"{base}/device/sas_device_handle") or None,
            "removable": text_of(f"{base}/removable"),
            "rotational": text_of(f"{base}/queue/rotational"),
            "support_discard": text_of(f"{base}/queue/discard_granularity"),
            "scheduler_mode": _chosen(f"{base}/queue/scheduler"),
            "sectors": sectors,
            "sectorsize": width,
            "size": readable(sectors * 512),
            "host": "",
            "holders": _folder(f"{base}/holders"),
            "links": _links_of(name, links),
            "partitions": {
                part: _partition(f"{base}/{part}", part, width, links)
                for part in _folder(base)
                if os.path.exists(f"{base}/{part}/partition")
            },
        }
    return {"devices": devices, "device_links": links}


def readable(size: float) -> str:
    for unit in ("Bytes", "KB", "MB", "GB", "TB"):
        if size < 1024:
            return f"{size:.2f} {unit}"
        size /= 1024
    return f"{size:.2f} PB"


def _partition(base: str, name: str, width: str, links: dict[str, Any]) -> dict[str, Any]:
    sectors = _number(f"{base}/size")
    ids = _links_of(name, links)
    return {
        "start": text_of(f"{base}/start"),
        "sectors": sectors,
        "sectorsize": int(width),
        "size": readable(sectors * 512),
        "uuid": next(iter(ids["uuids"]), None),
        "links": ids,
        "holders": _folder(f"{base}/holders"),
    }


def size_of(place: str) -> dict[str, Any]:
    try:
        info = os.statvfs(place)
    except OSError:
        return {}
    return {
        "size_total": info.f_frsize * info.f_blocks,
        "size_available": info.f_frsize * info.f_bavail,
        "block_size": info.f_bsize,
        "block_total": info.f_blocks,
        "block_available": info.f_bavail,
        "block_used": info.f_blocks - info.f_bavail,
        "inode_total": info.f_files,
        "inode_available": info.f_favail,
        "inode_used": info.f_files - info.f_favail,
    }


def _dmi() -> dict[str, Any]:
    return {
        fact: text_of(f"/sys/devices/virtual/dmi/id/{name}") or "NA" for fact, name in DMI.items()
    }


def _links(kind: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in _folder(f"/dev/disk/{kind}"):
        device = os.path.basename(os.path.realpath(f"/dev/disk/{kind}/{name}"))
        found.setdefault(device, []).append(name)
    return found


def _links_of(name: str, links: dict[str, Any]) -> dict[str, Any]:
    return {kind: found.get(name, []) for kind, found in links.items()}


def _by_target(folder: str) -> dict[str, str]:
    return {os.path.realpath(f"{folder}/{name}"): name for name in _folder(folder)}


def _chosen(path: str) -> str:
    text = text_of(path)
    return text[text.index("[") + 1 : text.index("]")] if "[" in text and "]" in text else ""


def _number(path: str) -> int:
    text = text_of(path)
    return int(text) if text.isdigit() else 0


def _link_of(path: str) -> str:
    """Where a link of the kernel's points; resolving each part of it would be ten times the
    calls."""
    try:
        return os.readlink(path)
    except OSError:
        return path


def _folder(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []
