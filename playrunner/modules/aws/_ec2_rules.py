"""Rules of security groups: as playbooks write them, as states compare them, and as EC2 spells
them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

Rule = dict[
    str, str
]  # {"protocol": "tcp", "ports": "988" or "1018-1023" or "all", "peer": a CIDR, an id, or "self"}

WORLD = ("0.0.0.0/0", "::/0")
TO_ANYWHERE: Rule = {
    "protocol": "all",
    "ports": "all",
    "peer": "0.0.0.0/0",
}  # the rule every new group has
_WORDS = ("protocol", "ports", "cidr", "group", "prefix_list", "self", "open_to_world")
_PEERS = ("cidr", "group", "prefix_list")
_SSH = 22


def complaint(given: Iterable[Any], incoming: bool) -> str | None:
    """What is wrong with rules as they are written; None when nothing is."""
    for rule in given:
        if not isinstance(rule, Mapping):
            return (
                f"a rule is a mapping such as {{ports: 2049, cidr: 192.168.0.0/16}}, not {rule!r}"
            )
        unknown = [word for word in rule if word not in _WORDS]
        if unknown:
            return f'a rule has no "{unknown[0]}"; it takes {", ".join(_WORDS)}'
        if not _peers(rule):
            return (
                f"the rule {dict(rule)} has no peer: it takes cidr, group, prefix_list or self:"
                " true"
            )
        for text in _ports(rule):
            if text != "all" and not all(
                part.isdigit() and int(part) < 65536 for part in text.split("-")
            ):
                return f'ports cannot be "{text}"; write 22, 1018-1023 or a list of them'
        if _protocol(rule) in ("tcp", "udp") and _ports(rule) == ["all"] and "ports" not in rule:
            return f"the rule {dict(rule)} needs ports; `protocol: all` is for all traffic"
        # The text "false" must not open it
        if incoming and rule.get("open_to_world") is not True and _lets_the_world_log_in(rule):
            return (
                "a rule opens SSH to the whole internet; name the addresses that need it,"
                " or say `open_to_world: true` in the rule"
            )
    return None


def declared(given: Iterable[Mapping[str, Any]]) -> list[Rule]:
    """Rules as written, one for each of their ports and peers, in a fixed order."""
    return _ordered(
        {"protocol": _protocol(rule), "ports": ports, "peer": peer}
        for rule in given
        for ports, peer in product(_ports(rule), _peers(rule))
    )


def observed(permissions: Iterable[Mapping[str, Any]], group_id: str) -> list[Rule]:
    """EC2's permissions of a group, in the same form."""
    return _ordered(
        {"protocol": _from_ec2(permission["IpProtocol"]), "ports": _range(permission), "peer": peer}
        for permission in permissions
        for peer in _peers_of(permission, group_id)
    )


def permission(rule: Rule, group_id: str) -> dict[str, Any]:
    """A rule in EC2's spelling."""
    peer = group_id if rule["peer"] == "self" else rule["peer"]
    if peer.startswith("sg-"):
        whom: dict[str, Any] = {"UserIdGroupPairs": [{"GroupId": peer}]}
    elif peer.startswith("pl-"):
        whom = {"PrefixListIds": [{"PrefixListId": peer}]}
    elif ":" in peer:
        whom = {"Ipv6Ranges": [{"CidrIpv6": peer}]}
    else:
        whom = {"IpRanges": [{"CidrIp": peer}]}
    if rule["protocol"] == "all":
        return {"IpProtocol": "-1", **whom}
    first, _, last = rule["ports"].partition("-")
    if first == "all":
        first, last = ("-1", "-1") if rule["protocol"].startswith("icmp") else ("0", "65535")
    return {
        "IpProtocol": rule["protocol"],
        "FromPort": int(first),
        "ToPort": int(last or first),
        **whom,
    }


def _ordered(rules: Iterable[Rule]) -> list[Rule]:
    return [
        {"protocol": protocol, "ports": ports, "peer": peer}
        for protocol, ports, peer in sorted(
            {(rule["protocol"], rule["ports"], rule["peer"]) for rule in rules}
        )
    ]


def _protocol(rule: Mapping[str, Any]) -> str:
    return _from_ec2(str(rule.get("protocol", "tcp")))


def _ports(rule: Mapping[str, Any]) -> list[str]:
    given = rule.get("ports", "all")
    every = given if isinstance(given, list) else str(given).split(",")
    texts = [str(text).strip() for text in every] if _protocol(rule) != "all" else ["all"]
    return ["all" if text in ("0-65535", "all") else text for text in texts]


def _peers(rule: Mapping[str, Any]) -> list[str]:
    peers = ["self"] if rule.get("self") in (True, "true", "yes") else []
    for argument in _PEERS:
        given = rule.get(argument) or []
        peers += [
            str(peer).strip()
            for peer in (given if isinstance(given, list) else str(given).split(","))
        ]
    return peers


def _lets_the_world_log_in(rule: Mapping[str, Any]) -> bool:
    if not set(WORLD) & set(_peers(rule)) or _protocol(rule) not in ("tcp", "all"):
        return False
    for text in _ports(rule):
        first, _, last = text.partition("-")
        if first == "all" or int(first) <= _SSH <= int(last or first):
            return True
    return False


def _peers_of(permission: Mapping[str, Any], group_id: str) -> list[str]:
    groups = [pair.get("GroupId") for pair in permission.get("UserIdGroupPairs") or ()]
    return ["self" if group == group_id else str(group) for group in groups] + [
        str(item[key])
        for field, key in (
            ("IpRanges", "CidrIp"),
            ("Ipv6Ranges", "CidrIpv6"),
            ("PrefixListIds", "PrefixListId"),
        )
        for item in permission.get(field) or ()
    ]


def _range(permission: Mapping[str, Any]) -> str:
    first, last = permission.get("FromPort"), permission.get("ToPort")
    if (
        _from_ec2(permission["IpProtocol"]) == "all"
        or first in (None, -1)
        or (first, last) == (0, 65535)
    ):
        return "all"
    return str(first) if first == last else f"{first}-{last}"


def _from_ec2(protocol: str) -> str:
    return {"-1": "all", "6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6"}.get(
        protocol, protocol.lower()
    )
