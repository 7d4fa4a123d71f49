"""Whether the host is a machine of its own, a guest or a container."""

from __future__ import annotations

import os

from playrunner.modules.host._facts_system import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PRODUCTS = (
    ("KVM", "kvm"),
    ("OpenStack", "openstack"),
    ("VMware", "VMware"),
    ("VirtualBox", "virtualbox"),
    ("RHEV", "RHEV"),
    ("Bochs", "kvm"),
    ("HVM domU", "xen"),
    ("Virtual Machine", "VirtualPC"),
    ("Parallels", "parallels"),
    ("Google", "kvm"),
    ("Amazon EC2", "kvm"),
    ("QEMU", "kvm"),
)


def gathered() -> dict[str, Any]:
    guest = containers() + machines()
    kind = guest[0] if guest else "NA"
    if guest and "container" not in guest and os.path.exists("/run/.containerenv"):
        guest.append("container")
    host = ["kvm"] if os.path.exists("/dev/kvm") and not guest else []
    return {
        "virtualization_type": host[0] if host and not guest else kind,
        "virtualization_role": "guest" if guest else "host" if host else "NA",
        "virtualization_tech_guest": guest,
        "virtualization_tech_host": host,
    }


def containers() -> list[str]:
    names = text_of("/proc/1/cgroup")
    marker = _environment_of_first().get("container", "")
    if (
        "/docker/" in names
        or "/docker-" in names
        or os.path.exists("/.dockerenv")
        or os.path.exists("/.dockerinit")
    ):
        return ["docker", "container"]
    if "/lxc/" in names or marker == "lxc":
        return ["lxc", "container"]
    if os.path.exists("/run/.containerenv") or marker == "podman":
        return ["podman", "container"]
    if os.path.exists("/run/systemd/container"):
        return [text_of("/run/systemd/container"), "container"]
    return ["container"] if marker else []


def machines() -> list[str]:
    product = " ".join(
        text_of(f"/sys/devices/virtual/dmi/id/{name}") for name in ("product_name", "sys_vendor")
    )
    found = [kind for sign, kind in PRODUCTS if sign in product]
    if text_of("/sys/hypervisor/type") == "xen":
        found.append("xen")
    return list(dict.fromkeys(found))[:1]


def _environment_of_first() -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text_of("/proc/1/environ").split("\0")]
    return {name: value for name, _, value in pairs}
