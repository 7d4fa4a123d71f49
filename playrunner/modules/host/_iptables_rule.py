"""A rule of iptables: its arguments in the order in which iptables(8) takes them."""

from __future__ import annotations

from playrunner.hostside.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional


class Rule(Module):
    """What a rule matches, and what then happens."""

    protocol: str | None = None  # tcp, udp, icmp, ..., all; ! before it negates
    source: str | None = None  # an address or network; ! before it negates
    destination: str | None = None  # an address or network; ! before it negates
    match: list[str] = []  # extensions to load
    tcp_flags: dict[str, Any] | None = None  # flags: those looked at, flags_set: those set
    jump: str | None = None  # what to do: ACCEPT, DROP, or another chain
    gateway: str | None = None  # with TEE: where copies go
    log_prefix: str | None = None  # what a log line begins with
    # How important a log line is
    log_level: (
        Literal[
            "0",
            "1",
            "2",
            "3",
            "4",
            "5",
            "6",
            "7",
            "emerg",
            "alert",
            "crit",
            "error",
            "warning",
            "notice",
            "info",
            "debug",
        ]
        | None
    ) = None
    to_destination: str | None = None  # with DNAT: the new destination
    destination_ports: list[str] = []  # several ports or ranges
    to_source: str | None = None  # with SNAT: the new source
    goto: str | None = None  # a chain to go on in without coming back
    in_interface: str | None = None  # where packets come in
    out_interface: str | None = None  # where packets go out
    fragment: str | None = None  # only later fragments of packets
    set_counters: str | None = None  # start with these counts
    source_port: str | None = None  # a port or range
    destination_port: str | None = None  # a port or range
    to_ports: str | None = None  # with REDIRECT: the new port
    set_dscp_mark: str | None = None  # with DSCP: the mark
    set_dscp_mark_class: str | None = None  # with DSCP: the class
    syn: Literal["ignore", "match", "negate"] = "ignore"  # packets that open a connection
    ctstate: list[str] = []  # states of connections, such as ESTABLISHED
    src_range: str | None = None  # addresses from-to
    dst_range: str | None = None  # addresses from-to
    match_set: str | None = None  # a set of ipset
    # Which addresses are looked up in that set
    match_set_flags: Literal["src", "dst", "src,dst", "dst,src", "dst,dst", "src,src"] | None = None
    limit: str | None = None  # how often at most, such as 5/minute
    limit_burst: str | None = None  # how often before the limit holds
    uid_owner: str | None = None  # packets of this user; ! before it negates
    gid_owner: str | None = None  # packets of this group; ! before it negates
    reject_with: str | None = None  # the answer with REJECT
    icmp_type: str | None = None  # a type of ICMP, by name or number
    comment: str | None = None  # a remark kept with the rule
    ip_version: Literal["ipv4", "ipv6", "both"] = "ipv4"  # which table of rules

    def rule(self, jump: Optional[str]) -> list[str]:
        return [*self._basics(jump), *self._ends(jump), *self._extensions(), *self._last(jump)]

    def _basics(self, jump: Optional[str]) -> list[str]:
        flags = self.tcp_flags or {}
        both = "flags" in flags and "flags_set" in flags
        seen = [",".join(_items(flags[key])) for key in ("flags", "flags_set")] if both else []
        return [
            *_flag("-p", self.protocol),
            *_flag("-s", self.source),
            *_flag("-d", self.destination),
            *(word for name in self.match for word in _flag("-m", name)),
            *(["--tcp-flags", *seen] if both else []),
            *_flag("-j", jump),
            *(_flag("--gateway", self.gateway) if (jump or "").lower() == "tee" else []),
            *_flag("--log-prefix", self.log_prefix),
            *_flag("--log-level", self.log_level),
        ]

    def _ends(self, jump: Optional[str]) -> list[str]:
        mark = (jump or "").lower() != "dscp"
        return [
            *_flag("--to-destination", self.to_destination),
            *_listed("multiport", "--dports", self.destination_ports),
            *_flag("--to-source", self.to_source),
            *_flag("-g", self.goto),
            *_flag("-i", self.in_interface),
            *_flag("-o", self.out_interface),
            *_flag("-f", self.fragment),
            *_flag("-c", self.set_counters),
            *_flag("--source-port", self.source_port),
            *_flag("--destination-port", self.destination_port),
            *_flag("--to-ports", self.to_ports),
            *_flag("--set-dscp", self.set_dscp_mark),
            *(["-j", "DSCP"] if self.set_dscp_mark and mark else []),
            *_flag("--set-dscp-class", self.set_dscp_mark_class),
            *(["-j", "DSCP"] if self.set_dscp_mark_class and mark else []),
            *{"match": ["--syn"], "negate": ["!", "--syn"]}.get(self.syn, []),
        ]

    def _extensions(self) -> list[str]:
        state = ",".join(self.ctstate)
        words: list[str] = []
        if state:
            by_state = "state" in self.match and "conntrack" not in self.match
            words += self._loading("conntrack", "state")
            words += ["--state" if by_state else "--ctstate", state]
        if self.src_range or self.dst_range:
            words += self._loading("iprange")
            words += _flag("--src-range", self.src_range) + _flag("--dst-range", self.dst_range)
        if self.match_set:
            words += [*self._loading("set"), *_flag("--match-set", self.match_set)]
            words += [str(self.match_set_flags)] if self.match_set_flags else []
        if self.limit or self.limit_burst:
            words += ["-m", "limit", *_flag("--limit", self.limit)]
            words += _flag("--limit-burst", self.limit_burst)
        for flag, owner in (("--uid-owner", self.uid_owner), ("--gid-owner", self.gid_owner)):
            words += ["-m", "owner", *_flag(flag, owner)] if owner else []
        return words

    def _loading(self, *names: str) -> list[str]:
        """Load an extension, unless it is among those that `match` names."""
        return [] if any(name in self.match for name in names) else ["-m", names[0]]

    def _last(self, jump: Optional[str]) -> list[str]:
        icmp = "--icmpv6-type" if self.ip_version == "ipv6" else "--icmp-type"
        return [
            *(["-j", "REJECT"] if jump is None and self.reject_with else []),
            *_flag("--reject-with", self.reject_with),
            *_flag(icmp, self.icmp_type),
            *(["-m", "comment", *_flag("--comment", self.comment)] if self.comment else []),
        ]


def _flag(flag: str, value: Optional[str]) -> list[str]:
    if value is None or value == "":
        return []
    return ["!", flag, value[1:]] if value.startswith("!") else [flag, value]


def _listed(extension: str, flag: str, values: list[str]) -> list[str]:
    return ["-m", extension, flag, ",".join(values)] if values else []


def _items(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else str(value).split(",")
