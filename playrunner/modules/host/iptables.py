"""host.iptables: a rule, a chain or a policy of the kernel's packet filter."""

from __future__ import annotations

import re

from playrunner.hostside.module import Failed
from playrunner.modules.host._iptables_rule import Rule
from playrunner.modules.host._packages import needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

_PLAIN = {"LC_ALL": "C"}


class Iptables(Rule):
    """A rule, a chain or a policy of the packet filter; it lasts until the host boots again."""

    table: Literal["filter", "nat", "mangle", "raw", "security"] = "filter"  # which table
    chain: str | None = None  # the chain; only flush may leave it out
    state: Literal["absent", "present"] = "present"  # whether it should be there
    action: Literal["append", "insert"] = "append"  # where a new rule goes: last or first
    rule_num: str | None = None  # with insert: before this one
    flush: bool = False  # remove all rules of the chain, or of all chains
    policy: Literal["ACCEPT", "DROP", "QUEUE", "RETURN"] | None = None  # what no rule matches
    chain_management: bool = False  # make or remove the chain itself too
    numeric: bool = False  # do not look up names of addresses
    wait: str | None = None  # seconds to wait while another program changes rules

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        if arguments.get("flush") and arguments.get("policy"):
            return "parameters are mutually exclusive: flush|policy"
        if arguments.get("set_dscp_mark") and arguments.get("set_dscp_mark_class"):
            return "parameters are mutually exclusive: set_dscp_mark|set_dscp_mark_class"
        marked = arguments.get("set_dscp_mark") or arguments.get("set_dscp_mark_class")
        if marked and not arguments.get("jump"):
            return "missing parameter(s) required by 'set_dscp_mark': jump"
        if str(arguments.get("jump")).lower() == "tee" and not arguments.get("gateway"):
            return "jump is TEE but all of the following are missing: gateway"
        if not arguments.get("flush") and not arguments.get("chain"):
            return "flush is False but all of the following are missing: chain"
        logs = arguments.get("log_prefix") or arguments.get("log_level")
        if logs and arguments.get("jump") not in (None, "LOG"):
            return "Logging options can only be used with the LOG jump target."
        return None

    def observe(self, ctx: HostContext) -> State | None:
        return {tool: self._found(ctx, tool) for tool in self._tools()}

    def desired(self, ctx: HostContext, current: State | None) -> State | None:
        return {tool: self._target() for tool in self._tools()}

    def apply(self, ctx: HostContext, change: Change) -> None:
        for tool in self._tools():
            before, after = (change.before or {})[tool], (change.after or {})[tool]
            for key in ("flushed", "chain", "policy", "rule"):
                if key in after and before.get(key) != after[key]:
                    self._set(ctx, tool, key, after[key])

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        return {
            "ip_version": self.ip_version,
            "table": self.table,
            "chain": self.chain,
            "flush": self.flush,
            "rule": " ".join(self.rule(self.jump)),
            "state": self.state,
            "chain_management": self.chain_management,
            "wait": self.wait,
        }

    def _tools(self) -> list[str]:
        return {"ipv4": ["iptables"], "ipv6": ["ip6tables"], "both": ["iptables", "ip6tables"]}[
            self.ip_version
        ]

    def _jump(self) -> Optional[str]:
        return "LOG" if not self.jump and (self.log_prefix or self.log_level) else self.jump

    def _whole_chain(self) -> bool:
        """Whether the step is about the chain alone, not about a rule in it."""
        return self.chain_management and not self.rule(self._jump())

    def _found(self, ctx: HostContext, tool: str) -> State:
        if self.flush:
            return {"flushed": False}
        if self.policy:
            return {"policy": self._current_policy(ctx, tool)}
        if self._whole_chain():
            listed = ["--numeric"] if self.numeric else []
            return {"chain": self._run(ctx, tool, "-L", listed).rc == 0}
        return {"rule": self._run(ctx, tool, "-C", self.rule(self._jump())).rc == 0}

    def _target(self) -> State:
        if self.flush:
            return {"flushed": True}
        if self.policy:
            return {"policy": self.policy}
        present = self.state == "present"
        return {"chain": present} if self._whole_chain() else {"rule": present}

    def _set(self, ctx: HostContext, tool: str, key: str, value: Any) -> None:
        if key == "flushed":
            if not value:
                raise Failed(f"the rules of {self.chain or self.table} were flushed and not kept")
            self._must(ctx, tool, "-F", [])
        elif key == "policy":
            self._must(ctx, tool, "-P", [str(value)])
        elif key == "chain":
            self._must(ctx, tool, "-N" if value else "-X", [])
        else:
            verb = "-D" if not value else "-A" if self.action == "append" else "-I"
            self._must(ctx, tool, verb, self.rule(self._jump()))

    def _current_policy(self, ctx: HostContext, tool: str) -> str:
        listed = ["--numeric"] if self.numeric else []
        ran = self._must(ctx, tool, "-L", listed)
        match = re.search(r"\(policy ([A-Z]+)\b", ran.out.partition("\n")[0])
        if not match:
            raise Failed("Can't detect current policy")
        return match[1]

    def _must(self, ctx: HostContext, tool: str, verb: str, words: list[str]) -> Any:
        ran = self._run(ctx, tool, verb, words)
        if ran.rc:
            raise Failed((ran.err or ran.out).strip(), rc=ran.rc, stdout=ran.out, stderr=ran.err)
        return ran

    def _run(self, ctx: HostContext, tool: str, verb: str, words: list[str]) -> Any:
        command = [needed(tool, "install the package iptables"), "-t", self.table, verb]
        command += [self.chain] if self.chain else []
        command += [self.rule_num] if verb == "-I" and self.rule_num else []
        command += ["-w", self.wait] if self.wait else []
        return ctx.run([*command, *words], env=_PLAIN)
