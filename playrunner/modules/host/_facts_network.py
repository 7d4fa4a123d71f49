"""Facts of network interfaces and addresses, from the kernel itself; no program is run for them."""

from __future__ import annotations

import os

from playrunner.modules.host._facts_system import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

ADDRESS, BROADCAST, NETMASK = 0x8915, 0x8919, 0x891B  # ioctl requests: SIOCGIFADDR and its siblings
PROMISCUOUS, UP, GATEWAY_ROUTE = 0x100, 0x1, 0x2
TYPES = {"1": "ether", "32": "infiniband", "512": "ppp", "772": "loopback", "65534": "tunnel"}
SCOPES = {0x00: "global", 0x10: "host", 0x20: "link", 0x40: "site"}


def gathered() -> dict[str, Any]:
    if not os.path.isdir("/sys/class/net"):
        return {
            "interfaces": [],
            "all_ipv4_addresses": [],
            "all_ipv6_addresses": [],
            "default_ipv4": {},
            "default_ipv6": {},
        }
    six = _ipv6()
    names = os.listdir("/sys/class/net")
    interfaces = {
        name: interface(name, six.get(name, []))
        for name in names
        if os.path.isdir(f"/sys/class/net/{name}")
    }
    facts: dict[str, Any] = {
        name.replace("-", "_").replace(":", "_"): interface_facts
        for name, interface_facts in interfaces.items()
    }
    return {
        **facts,
        "interfaces": list(interfaces),
        "all_ipv4_addresses": _all_ipv4(interfaces),
        "all_ipv6_addresses": [
            entry["address"]
            for interface_facts in interfaces.values()
            for entry in interface_facts.get("ipv6", [])
            if entry["address"] != "::1"
        ],
        "default_ipv4": _default_ipv4(interfaces),
        "default_ipv6": _default_ipv6(interfaces),
    }


def interface(name: str, six: list[dict[str, str]]) -> dict[str, Any]:
    base = f"/sys/class/net/{name}"
    flags = int(text_of(f"{base}/flags") or "0", 16)
    facts: dict[str, Any] = {
        "device": name,
        "active": _is_active(base, flags),
        "promisc": bool(flags & PROMISCUOUS),
        "type": TYPES.get(text_of(f"{base}/type"), "unknown"),
    }
    mtu, mac, speed = text_of(f"{base}/mtu"), text_of(f"{base}/address"), text_of(f"{base}/speed")
    if mtu:
        facts["mtu"] = int(mtu)
    if mac and mac != "00:00:00:00:00:00":
        facts["macaddress"] = mac
    if os.path.exists(f"{base}/device"):
        facts["pciid"] = os.path.basename(os.path.realpath(f"{base}/device"))
        facts["module"] = (
            os.path.basename(os.path.realpath(f"{base}/device/driver/module"))
            if os.path.exists(f"{base}/device/driver/module")
            else None
        )
    if speed:
        facts["speed"] = int(speed)
    if os.path.isdir(f"{base}/bridge"):
        facts.update(type="bridge", interfaces=sorted(os.listdir(f"{base}/brif")))
    elif os.path.isdir(f"{base}/bonding"):
        facts.update(type="bonding", slaves=text_of(f"{base}/bonding/slaves").split())
    four = _ipv4(name)
    return {
        key: value
        for key, value in {**facts, "ipv4": four, "ipv6": six or None}.items()
        if value is not None
    }


def _is_active(base: str, flags: int) -> bool:
    return text_of(f"{base}/operstate") == "up" or (
        text_of(f"{base}/operstate") == "unknown" and bool(flags & UP)
    )


def _ipv4(name: str) -> Optional[dict[str, str]]:
    import _socket as socket
    import fcntl

    request = name.encode()[:15].ljust(256, b"\0")
    asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        address, netmask, broadcast = (
            fcntl.ioctl(asked.fileno(), what, request)[20:24]
            for what in (ADDRESS, NETMASK, BROADCAST)
        )
    except OSError:
        return None
    finally:
        asked.close()
    network = bytes(part & mask for part, mask in zip(address, netmask))  # noqa: B905
    parts = {"address": address, "netmask": netmask, "network": network}
    return {
        **{key: socket.inet_ntoa(value) for key, value in parts.items()},
        "broadcast": "" if broadcast in (b"\0\0\0\0", address) else socket.inet_ntoa(broadcast),
        "prefix": str(bin(int.from_bytes(netmask, "big")).count("1")),
    }


def _ipv6() -> dict[str, list[dict[str, str]]]:
    import _socket as socket

    by_interface: dict[str, list[dict[str, str]]] = {}
    for line in text_of("/proc/net/if_inet6").splitlines():
        digits, _, prefix, scope, _, name = line.split()
        address = socket.inet_ntop(socket.AF_INET6, bytes.fromhex(digits))
        by_interface.setdefault(name, []).append(
            {
                "address": address,
                "prefix": str(int(prefix, 16)),
                "scope": SCOPES.get(int(scope, 16), "unknown"),
            }
        )
    for addresses in by_interface.values():
        addresses.sort(
            key=lambda entry: ("global", "site", "host", "link", "unknown").index(entry["scope"])
        )
    return by_interface


def _all_ipv4(interfaces: dict[str, Any]) -> list[str]:
    found = [entry["ipv4"]["address"] for entry in interfaces.values() if "ipv4" in entry]
    return [address for address in found if not address.startswith("127.")]


def _default_ipv4(interfaces: dict[str, Any]) -> dict[str, Any]:
    import _socket as socket

    routes = [line.split() for line in text_of("/proc/net/route").splitlines()[1:]]
    ways = [
        row
        for row in routes
        if row[1] == "00000000" and row[7] == "00000000" and int(row[3], 16) & UP
    ]
    if not ways:
        return {}
    best = min(ways, key=lambda row: int(row[6]))
    interface = interfaces.get(best[0], {})
    # Always little-endian hexadecimal of what is in the kernel's memory, as the machine stores it.
    gateway = socket.inet_ntoa(bytes.fromhex(best[2])[::-1])
    route = {
        "interface": best[0],
        "alias": best[0],
        **interface.get("ipv4", {}),
        **{key: interface[key] for key in ("macaddress", "mtu", "type") if key in interface},
    }
    return {**route, "gateway": gateway} if int(best[3], 16) & GATEWAY_ROUTE else route


def _default_ipv6(interfaces: dict[str, Any]) -> dict[str, Any]:
    import _socket as socket

    rows = [line.split() for line in text_of("/proc/net/ipv6_route").splitlines()]
    ways = [
        row
        for row in rows
        if row[0] == "0" * 32 and row[1] == "00" and row[9] != "lo" and int(row[8], 16) & UP
    ]
    if not ways:
        return {}
    best = min(ways, key=lambda row: int(row[5], 16))
    best_interface = interfaces.get(best[9], {})
    address: dict[str, str] = next(
        (entry for entry in best_interface.get("ipv6", []) if entry["scope"] == "global"), {}
    )
    facts: dict[str, Any] = {"interface": best[9], **address}
    facts.update(
        {key: best_interface[key] for key in ("macaddress", "mtu", "type") if key in best_interface}
    )
    gateway = socket.inet_ntop(socket.AF_INET6, bytes.fromhex(best[4]))
    return facts if gateway == "::" else {**facts, "gateway": gateway}
