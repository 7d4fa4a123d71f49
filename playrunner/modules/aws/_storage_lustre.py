"""The rules of FSx for Lustre: which sizes and speeds each kind of file system comes in."""

from __future__ import annotations

from typing import Any

# Throughput per TiB, in MB/s, that each kind on SSD takes; none: there is nothing to choose.
THROUGHPUTS = {
    "SCRATCH_1": (),
    "SCRATCH_2": (),
    "PERSISTENT_1": (50, 100, 200),
    "PERSISTENT_2": (125, 250, 500, 1000),
}
_HDD_STEPS = {12: 6000, 40: 1800}  # throughput per TiB: GiB per step


def complaint(arguments: dict[str, Any]) -> str | None:
    """What is wrong with a declared file system, found before anything is made."""
    kind, disk = arguments.get("deployment", "PERSISTENT_1"), arguments.get("storage", "SSD")
    throughput, capacity = arguments.get("throughput_per_tib"), arguments["capacity_gib"]
    if disk == "HDD" and kind != "PERSISTENT_1":
        return "storage: HDD is only for deployment: PERSISTENT_1"
    allowed = tuple(_HDD_STEPS) if disk == "HDD" else THROUGHPUTS[kind]
    if throughput not in (allowed or (None,)):
        choice = f"one of {', '.join(map(str, allowed))}" if allowed else "not given"
        return f"throughput_per_tib is {choice} for {kind} on {disk}"
    step = _HDD_STEPS[throughput or 0] if disk == "HDD" else 3600 if kind == "SCRATCH_1" else 2400
    if (capacity <= 0 or capacity % step) and (disk == "HDD" or capacity not in (1200, 2400)):
        smallest = "" if disk == "HDD" else "1200, 2400 or "
        return (
            f"capacity_gib is {smallest}a multiple of {step} for {kind} on {disk}, not {capacity}"
        )
    return _about_cache(arguments, disk) or _about_data(arguments, kind)


def _about_cache(arguments: dict[str, Any], disk: str) -> str | None:
    if disk == "HDD" and not arguments.get("drive_cache"):
        return (
            "storage: HDD needs drive_cache: NONE, or READ for an SSD cache of a fifth of its size"
        )
    if disk != "HDD" and arguments.get("drive_cache"):
        return f"drive_cache is for storage: HDD only, not for {disk}"
    return None


def _about_data(arguments: dict[str, Any], kind: str) -> str | None:
    if kind.startswith("SCRATCH") and (
        arguments.get("backup_days") or arguments.get("backup_time")
    ):
        return f"{kind} has no backups; leave backup_days and backup_time out"
    if kind == "PERSISTENT_2" and arguments.get("import_path"):
        return (
            "import_path is not for PERSISTENT_2; link the bucket with aws.fsx_data_repository"
            " (fsx_data_repositories of the role fsx) instead"
        )
    if arguments.get("import_path") and (
        arguments.get("backup_days") or arguments.get("backup_time")
    ):
        return (
            "a file system that shows a bucket (import_path) has no backups: its data is in the"
            " bucket; leave backup_days and backup_time out"
        )
    if arguments.get("export_path") and not arguments.get("import_path"):
        return "export_path needs import_path: both are of one bucket"
    return None
