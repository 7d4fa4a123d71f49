"""Which distribution this is, and what manages its packages and services."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FAMILIES = {
    "Debian": ("Debian", "Ubuntu", "Raspbian", "Linux Mint", "Kali", "Devuan", "Pop!_OS", "Parrot"),
    "RedHat": (
        "RedHat",
        "CentOS",
        "Fedora",
        "Rocky",
        "AlmaLinux",
        "Amazon",
        "OracleLinux",
        "Scientific",
        "CloudLinux",
        "EuroLinux",
        "Alibaba",
        "TencentOS",
        "openEuler",
    ),
    "Suse": (
        "SLES",
        "SLED",
        "SLES_SAP",
        "openSUSE",
        "openSUSE Leap",
        "openSUSE Tumbleweed",
        "openSUSE MicroOS",
    ),
    "Archlinux": ("Archlinux", "Antergos", "Manjaro"),
    "Gentoo": ("Gentoo", "Funtoo"),
    "Alpine": ("Alpine",),
    "Flatcar": ("Flatcar",),
    "Darwin": ("MacOSX",),
}
# What os-release calls it, where that is not how playbooks spell it.
SPELLED = {
    "debian": "Debian",
    "ubuntu": "Ubuntu",
    "rhel": "RedHat",
    "centos": "CentOS",
    "fedora": "Fedora",
    "rocky": "Rocky",
    "almalinux": "AlmaLinux",
    "amzn": "Amazon",
    "ol": "OracleLinux",
    "arch": "Archlinux",
    "alpine": "Alpine",
    "sles": "SLES",
    "opensuse-leap": "openSUSE Leap",
    "opensuse-tumbleweed": "openSUSE Tumbleweed",
    "gentoo": "Gentoo",
    "raspbian": "Raspbian",
    "kali": "Kali",
    "linuxmint": "Linux Mint",
    "pop": "Pop!_OS",
    "flatcar": "Flatcar",
    "manjaro": "Manjaro",
    "scientific": "Scientific",
}
MANAGERS = {
    "Debian": "apt",
    "Suse": "zypper",
    "Archlinux": "pacman",
    "Alpine": "apk",
    "Gentoo": "portage",
    "Darwin": "homebrew",
}


def distribution() -> dict[str, Any]:
    release = os_release()
    if not release:
        return _elsewhere()
    name = SPELLED.get(release.get("ID", ""), release.get("NAME", "NA").split()[0])
    version = _full_version(name, release.get("VERSION_ID", "NA"))
    parts = version.split(".")
    facts = {
        "distribution": name,
        "distribution_version": version,
        "distribution_major_version": parts[0],
        "distribution_release": _code_name(release),
        "os_family": family_of(name),
        "distribution_file_path": "/etc/os-release",
        "distribution_file_parsed": True,
        "distribution_file_variety": _variety(name),
    }
    if len(parts) > 1 and family_of(name) == "Debian" and name != "Ubuntu":
        facts["distribution_minor_version"] = parts[1]
    return facts


def lsb() -> dict[str, Any]:
    release = os_release()
    if not release or not (
        os.path.exists("/usr/bin/lsb_release") or os.path.exists("/etc/lsb-release")
    ):
        return {"lsb": {}}
    version = release.get("VERSION_ID", "")
    return {
        "lsb": {
            "id": SPELLED.get(release.get("ID", ""), release.get("NAME", "")),
            "release": version,
            "major_release": version.split(".")[0],
            "codename": _code_name(release),
            "description": release.get("PRETTY_NAME", ""),
        }
    }


def pkg_mgr() -> dict[str, Any]:
    family = family_of(distribution()["distribution"])
    if family == "RedHat":
        if os.path.exists("/usr/bin/dnf5") and os.path.realpath("/usr/bin/dnf").endswith("dnf5"):
            return {"pkg_mgr": "dnf5"}
        return {
            "pkg_mgr": "dnf"
            if os.path.exists("/usr/bin/dnf")
            else "atomic_container"
            if os.path.exists("/run/ostree-booted")
            else "yum"
        }
    return {"pkg_mgr": MANAGERS.get(family, "unknown")}


def service_mgr() -> dict[str, Any]:
    if os.uname().sysname == "Darwin":
        return {"service_mgr": "launchd"}
    if os.path.isdir("/run/systemd/system"):
        return {"service_mgr": "systemd"}
    first = os.path.basename(_first_line("/proc/1/comm"))
    if first not in ("", "init", "sh", "bash", "sudo"):
        return {"service_mgr": "openrc" if first == "openrc-init" else first}
    if os.path.exists("/sbin/openrc"):
        return {"service_mgr": "openrc"}
    return {"service_mgr": "sysvinit" if os.path.isdir("/etc/init.d") else "service"}


def os_release() -> dict[str, str]:
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            with open(path) as file:
                pairs = [
                    line.strip().partition("=")
                    for line in file
                    if "=" in line and not line.startswith("#")
                ]
            return {name: value.strip("\"'") for name, _, value in pairs}
        except OSError:
            continue
    return {}


def family_of(name: str) -> str:
    return next((family for family, members in FAMILIES.items() if name in members), name)


def _full_version(name: str, version: str) -> str:
    """os-release leaves out the point releases that these distributions keep elsewhere."""
    if name == "Debian":
        exact = _first_line("/etc/debian_version")
        return exact if exact[:1].isdigit() else version
    if name == "CentOS":
        exact = next(
            (word for word in _first_line("/etc/centos-release").split() if word[:1].isdigit()), ""
        )
        return ".".join(exact.split(".")[:2]) or version
    return version


def _code_name(release: dict[str, str]) -> str:
    name = release.get("VERSION_CODENAME") or release.get("UBUNTU_CODENAME")
    if name:
        return name
    text = release.get("VERSION", "")
    return text[text.index("(") + 1 : text.index(")")] if "(" in text and ")" in text else "NA"


def _variety(name: str) -> str:
    return {"Ubuntu": "Debian", "Rocky": "RedHat", "AlmaLinux": "RedHat", "Fedora": "RedHat"}.get(
        name, name
    )


def _elsewhere() -> dict[str, Any]:
    import platform

    name = os.uname()
    if name.sysname == "Darwin":
        version = platform.mac_ver()[0]
        return {
            "distribution": "MacOSX",
            "distribution_version": version,
            "distribution_release": name.release,
            "distribution_major_version": version.split(".")[0],
            "os_family": "Darwin",
        }
    return {
        "distribution": name.sysname,
        "distribution_version": name.release,
        "distribution_release": name.release,
        "distribution_major_version": name.release.split(".")[0],
        "os_family": name.sysname,
    }


def _first_line(path: str) -> str:
    try:
        with open(path, errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""
