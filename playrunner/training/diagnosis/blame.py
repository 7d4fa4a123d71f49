"""What a process's end is to be blamed on: the user's software, configuration or data, too little
of something, the network, a device, or the node itself.

Only the last three can be a node's fault, and only where the node is proved to have it: the sign
appears there and not on the other nodes as well. Everything else, and everything that cannot be
told, is never held against a node.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from playrunner.frozen import frozen

SOFTWARE, CONFIGURATION, DATA, CAPACITY = "software", "configuration", "data", "capacity"
NETWORK, DEVICE, NODE, UNKNOWN = "network", "device", "node", "unknown"
OF_A_NODE = (DEVICE, NODE)  # a network fault is proved by a measurement, never by one node's words
OFTEN = 2  # times that a device must fail on a node
# A process that ends this soon after one of another node may have ended because of it
IN_TURN_SECONDS = 30.0

_BY_REASON = {
    "OOMKilled": CAPACITY,
    "Evicted": CAPACITY,
    "ContainerCannotRun": CONFIGURATION,
    "StartError": CONFIGURATION,
    "CreateContainerError": CONFIGURATION,
    "DeadlineExceeded": CONFIGURATION,
    "ContainerStatusUnknown": NODE,
    "NodeLost": NODE,
    "NodeShutdown": NODE,
}
_BY_CODE = {126: CONFIGURATION, 127: CONFIGURATION}
# Hardware first: its errors end a process with an exception of the software that uses it.
_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (
            DEVICE,
            r"uncorrectable (?:ECC|NVLink)|[Ff]allen off the bus|GPU is lost|NVRM: Xid .*"
            r"\b(?:48|62|63|64|74|79|92|94|95|119|120|140)\b|hardware stack error|"
            r"device\(s\) is/are busy or unavailable|DEVICE_LOST|CUDA_ERROR_ECC|"
            r"NRT_(?:UNCORRECTABLE|HW_ERR\w*)|nrt_\w+.*status[ =:]+(?:1003|1200|1202|1204)\b|"
            r"Failed to open (?:neuron|nvidia) device",
        ),
        (NODE, r"Input/output error|\[Errno 5\]|Remote I/O error|\[Errno 121\]"),
        (
            CAPACITY,
            r"CUDA out of memory|OutOfMemoryError|CUBLAS_STATUS_ALLOC_FAILED|MemoryError|"
            r"Cannot allocate memory|std::bad_alloc|can't allocate memory|No space left on device|"
            r"Disk quota exceeded|\[Errno (?:12|28|122)\]|Too many open files|"
            r"insufficient shared memory|Bus error",
        ),
        (
            DATA,
            r"the loss is (?:nan|inf|not|no longer)|UnicodeDecodeError|size mismatch for|"
            r"Error\(s\) in loading state_dict|JSONDecodeError|DatasetGenerationError|"
            r"is too short|EOFError|trainer: .*\b(?:token|data)",
        ),
        (
            CONFIGURATION,
            r"FileNotFoundError|No such file or directory|PermissionError|Permission denied|"
            r"NotADirectoryError|IsADirectoryError|GatedRepoError|RepositoryNotFoundError|"
            r"\b40[134] (?:Client Error|Forbidden|Unauthorized)|AccessDenied|InvalidAccessKeyId|"
            r"SignatureDoesNotMatch|ExpiredToken|NoCredentials|EADDRINUSE|[Aa]ddress already in"
            r" use|^(?:\[\d+\] )?trainer: |unrecognized arguments|error: argument|KeyError|"
            r"yaml\.\w+Error|CUDA driver version is insufficient|no kernel image is available",
        ),
        (
            NETWORK,
            r"ncclSystemError|ncclRemoteError|Connection (?:reset|refused|closed|timed out)|"
            r"No route to host|Name or service not known|name resolution|DistNetworkError|"
            r"RendezvousTimeoutError|transport retry counter exceeded|Broken pipe|"
            r"collective operation timeout|connectFullMesh failed",
        ),
        (
            SOFTWARE,
            r"ModuleNotFoundError|ImportError|No module named|SyntaxError|AttributeError|"
            r"NameError|TypeError|ValueError|RuntimeError|AssertionError|IndexError|"
            r"ZeroDivisionError|NotImplementedError|device-side assert|illegal memory access|"
            r"Segmentation fault|Traceback \(most recent call last\)|\w+(?:Error|Exception)\b",
        ),
    )
)
_TEXT = re.compile(r"^(?:\[[^\]]*\]:?\s*)+|0x[0-9a-f]+|\d+")


@frozen
class End:
    """How a process ended on a node; `lines` are its last ones."""

    node: str
    pod: str
    moment: float
    code: int | None = None
    reason: str = ""
    lines: tuple[str, ...] = ()
    container: str = ""  # which run of the container: two may end within one second

    @property
    def text(self) -> str:
        return f"{self.reason or 'Error'} (exit code {self.code})"


@frozen
class Finding:
    """The kind of fault, and the words that tell it."""

    kind: str
    sign: str


@frozen
class Suspect:
    """A node with a fault of its own, and what speaks for and against it."""

    node: str
    pod: str
    times: int
    why: str
    kind: str = UNKNOWN
    evidence: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    proved: bool = False


def finding(end: End) -> Finding:
    """What one end tells by itself."""
    for kind, pattern in _SIGNS:
        line = next((line for line in reversed(end.lines) if pattern.search(line)), "")
        if line and (kind != SOFTWARE or end.reason not in _BY_REASON):
            return Finding(kind, line.strip())
    known = _BY_REASON.get(end.reason) or _BY_CODE.get(end.code or 0)
    return Finding(known or UNKNOWN, end.text)


def culprits(ends: Iterable[End]) -> list[End]:
    """Those that did not merely follow from an end on another node, oldest first."""
    first_ends: list[End] = []
    for end in sorted(ends, key=lambda each: each.moment):
        others = (other for other in first_ends if other.node != end.node)
        if not any(end.moment - other.moment < IN_TURN_SECONDS for other in others):
            first_ends.append(end)
    return first_ends


def suspects(
    ends: Sequence[End],
    nodes: Iterable[str] = (),
    conditions: dict[str, Finding] | None = None,
    restarts: dict[str, int] | None = None,
) -> list[Suspect]:
    """The nodes on which the run ended, the proved ones first. `nodes`: all that it uses;
    `conditions`: what the cluster itself says is wrong with one; `restarts`: how often its pods
    were started again there."""
    conditions = conditions or {}
    used = {*nodes, *(end.node for end in ends)}
    candidates = [
        suspect
        for node in sorted({*(end.node for end in ends), *(conditions.keys() & used)})
        if (
            suspect := _suspect(
                node, ends, used, conditions.get(node), (restarts or {}).get(node, 0)
            )
        )
    ]
    return sorted(candidates, key=lambda suspect: not suspect.proved)


def not_a_node(ends: Sequence[End]) -> Finding | None:
    """The fault of a run that no node is to blame for; None where nothing tells it."""
    findings = [finding(end) for end in culprits(ends)] + [finding(end) for end in ends]
    return next((fault for fault in findings if fault.kind not in (*OF_A_NODE, UNKNOWN)), None)


def _suspect(
    node: str, ends: Sequence[End], used: set[str], condition: Finding | None, restarts: int
) -> Suspect | None:
    own = [end for end in ends if end.node == node]
    first = [end for end in culprits(ends) if end.node == node]
    findings = [(end, finding(end)) for end in own]
    faults = [(end, fault) for end, fault in findings if fault.kind in OF_A_NODE]
    if condition:
        pod = own[-1].pod if own else ""
        return Suspect(
            node,
            pod,
            max(1, len(own)),
            condition.sign,
            condition.kind,
            (condition.sign,),
            (),
            proved=True,
        )
    times = max(len(first), restarts if first else 0)
    if times < OFTEN:
        return None
    if not faults:
        end, fault = findings[-1]
        return Suspect(
            node,
            end.pod,
            times,
            end.text,
            fault.kind,
            _evidence(node, own),
            _against(fault, node, ends),
        )
    end, fault = faults[-1]
    elsewhere = sorted(
        {other.node for other in ends if other.node != node and _alike(finding(other), fault)}
    )
    common = len(elsewhere) + 1 > 1 and (len(elsewhere) + 1) * 2 > len(used)
    against = (f"the same sign appears on {', '.join(elsewhere)}",) if elsewhere else ()
    return Suspect(
        node,
        end.pod,
        times,
        fault.sign,
        fault.kind,
        (*_evidence(node, own), f"{end.pod}: {fault.sign}"),
        against,
        proved=not common,
    )


def _evidence(node: str, own: Sequence[End]) -> tuple[str, ...]:
    return (f"it ended {len(own)} times on {node}, last: {own[-1].text}",)


def _against(fault: Finding, node: str, ends: Sequence[End]) -> tuple[str, ...]:
    return tuple(_reasons_against(fault, node, ends))


def _reasons_against(fault: Finding, node: str, ends: Sequence[End]) -> Iterator[str]:
    if fault.kind == UNKNOWN:
        yield "nothing that it printed tells of a device or of the node"
    else:
        yield f"it is a fault of {fault.kind}: {fault.sign}"
    elsewhere = sorted(
        {other.node for other in ends if other.node != node and _alike(finding(other), fault)}
    )
    if elsewhere:
        yield f"the same happened on {', '.join(elsewhere)}"


def _alike(fault: Finding, other: Finding) -> bool:
    """Whether two ends tell the same, apart from ranks, addresses and numbers."""
    return fault.kind == other.kind and (
        fault.kind in OF_A_NODE or _TEXT.sub("", fault.sign) == _TEXT.sub("", other.sign)
    )
