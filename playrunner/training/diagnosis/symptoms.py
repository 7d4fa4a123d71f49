"""Symptoms: what programs print when something known goes wrong, and what to do about each."""

from __future__ import annotations

import re
from collections.abc import Iterator

from playrunner.frozen import frozen
from playrunner.project import program
from playrunner.training.diagnosis.evidence import Cause, Facts, listed, quoted

_MOST_LINES = 3
_NOT_SURE = 40  # a run that goes on has survived what it complained of, so far


@frozen
class Symptom:
    """A pattern of output. Title and remedy may name {host}, {name}, {resume},
    {smaller_batch}, {python}, {root}, {logs} and its groups."""

    score: int
    pattern: str
    title: str
    remedy: str = "{logs}"


SYMPTOMS = (
    Symptom(
        92,
        r"CUDA out of memory|torch\.OutOfMemoryError|OutOfMemoryError:"
        r" CUDA|CUBLAS_STATUS_ALLOC_FAILED",
        "the GPU's memory is too small for this batch on {host}",
        "{smaller_batch}",
    ),
    Symptom(
        92,
        r"No space left on device|Disk quota exceeded|\[Errno 28\]",
        "the disk of {host} is full",
        "free space under {root} on {host}, then: {resume}",
    ),
    Symptom(
        91,
        r"EADDRINUSE|[Aa]ddress already in use|errno: 98",
        "a port is taken on {host}",
        "ss -ltnp on {host} shows by whom; a new launch takes other ports: {resume}",
    ),
    Symptom(
        90,
        r"ModuleNotFoundError: No module named '(?P<module>[^']+)'",
        "{host} has no Python package {module}",
        "{python} -m pip install {module} on {host}, then: {resume}",
    ),
    Symptom(
        89,
        r"GatedRepoError|(401|403) Client Error.*huggingface|Access to model .* is restricted",
        "Hugging Face refuses the download",
        "set HF_TOKEN in the inventory's train_environment (a token that may read it), then:"
        " {resume}",
    ),
    Symptom(
        88,
        r"couldn't connect to"
        r" '?https://huggingface\.co|LocalEntryNotFoundError|OfflineModeIsEnabled|"
        r"resolve '?huggingface\.co|Can't load tokenizer|huggingface\.co.*(Max"
        r" retries|ConnectionError|timed out)",
        "{host} cannot download from Hugging Face, and does not have it in its cache",
        "give the node a way out (HTTPS_PROXY in train_environment), or fill its HF_HOME"
        " beforehand, then: {resume}",
    ),
    Symptom(
        88,
        r"MemoryError|Cannot allocate memory|DefaultCPUAllocator: can't allocate|std::bad_alloc",
        "{host} is out of memory",
        "{smaller_batch}",
    ),
    Symptom(
        88,
        r"killed by signal: Bus error|shared memory object|insufficient shared"
        r" memory|/dev/shm.*(full|No space)",
        "the shared memory of {host} is full",
        "give /dev/shm more room on {host} (mount -o remount,size=8G /dev/shm), then: {resume}",
    ),
    Symptom(
        87,
        r"CUDA driver version is insufficient|no kernel image is available|Found no NVIDIA driver",
        "torch and the GPU driver of {host} do not fit",
        "nvidia-smi on {host}; install a torch built for that driver",
    ),
    Symptom(
        87,
        r"Too many open files",
        "{host} allows too few open files",
        "raise the login's limit (ulimit -n 65536) on {host}, then: {resume}",
    ),
    Symptom(
        86,
        r"PermissionError: \[Errno 13\] Permission denied: '(?P<path>[^']+)'",
        "{host} may not use {path}",
        "ls -ld {path} on {host}; give it to the login that trains, then: {resume}",
    ),
    Symptom(
        84,
        r"uncorrectable ECC|CUDA error: (unspecified launch failure|an illegal memory"
        r" access)|device-side assert|"
        r"GPU has fallen off",
        "a GPU of {host} failed",
        "nvidia-smi -q -d ECC,PAGE_RETIREMENT on {host}; leave the node out if it shows errors:"
        " {resume} --nodes N",
    ),
    Symptom(
        83,
        r"size mismatch for|Error\(s\) in loading state_dict|Missing key\(s\) in state_dict",
        "the checkpoint is of another model",
        "launch under another --name, or set train.model as it was",
    ),
    Symptom(
        82,
        r"client socket has (timed out|failed).*?connect(ing)? to \(?(?P<peer>[^)\s]+,? ?\d*)|"
        r"connectFullMesh failed|No route to host|DistNetworkError.*(timed out|refused)|gate:"
        r" .*cannot reach",
        "the nodes do not reach one another: {host} got no answer",
        f"{program()} train.bench (names the dead link); then the firewall or security group, and"
        " train_interface (GLOO_SOCKET_IFNAME)",
    ),
    Symptom(
        80,
        r"DistStoreError.*clients joined|RendezvousTimeoutError|Timed out after .* waiting for"
        r" clients",
        "not all processes came to the meeting place",
        f"{program()} train.logs --name {{name}} --all (who is silent?); {program()} train.bench",
    ),
    Symptom(
        78,
        r"Connection refused",
        "{host} was refused a connection",
        f"{program()} train.logs --name {{name}} --all (did the first node's process end before?);"
        f" {program()} train.bench",
    ),
    Symptom(
        76,
        r"unhandled (system|cuda) error|ncclSystemError|ncclInternalError|ncclRemoteError|NCCL WARN"
        r" .*(error|fail)",
        "NCCL failed on {host}",
        f"{program()} train.env --profile PROFILE --why NCCL_SOCKET_IFNAME; {program()}"
        " train.bench",
    ),
    Symptom(75, r"Permission denied", "{host} is denied something"),
    Symptom(
        35,
        r"Connection (closed by peer|reset by peer)|Broken pipe",
        "a process on {host} lost the one it spoke to: an echo of another one's end",
    ),
)
_EXCEPTION = re.compile(
    r"^\[\d+\] ((?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Failure))(?:: (.*))?$"
)
_ENDED = re.compile(r"exitcode\s*:\s*-?\d+|ChildFailedError|SignalException")
_WATCHDOG = re.compile(
    r"\[Rank (\d+)\].*last enqueued (?:NCCL )?work: (-?\d+), last completed (?:NCCL )?work:"
    r" (-?\d+)",
    re.IGNORECASE,
)
_TIMEOUT = re.compile(
    r"Watchdog caught collective operation timeout|collective.*timed? ?out|Timed out waiting \d+"
    r" ?ms|"
    r"failed to pass monitoredBarrier",
    re.IGNORECASE,
)
_BARRIER = re.compile(r"Ranks? ([\d, ]+) failed to pass monitoredBarrier")


def from_output(facts: Facts) -> Iterator[Cause]:
    """What the processes said that is known to mean something."""
    lines = list(facts.said())
    for symptom in SYMPTOMS:
        pattern = re.compile(symptom.pattern)
        found = [(host, line, match) for host, line in lines if (match := pattern.search(line))]
        if found:
            yield _cause(facts, symptom, found)
    yield from _exceptions(facts, lines)


def from_collectives(facts: Facts) -> Iterator[Cause]:
    """Timeouts of NCCL and gloo: the rank that never entered, or entered last, is the one to look
    at."""
    output = list(facts.said())
    lines = [quoted(host, line) for host, line in output if _TIMEOUT.search(line)]
    if not lines:
        return
    progress = {
        int(match[1]): (int(match[2]), int(match[3]))
        for _, line in output
        if (match := _WATCHDOG.search(line))
    }
    named = [
        f"rank {number.strip()}"
        for _, line in output
        if (match := _BARRIER.search(line))
        for number in match[1].split(",")
    ]
    if progress:
        absent = [number for number in range(facts.world_size) if number not in progress]
        least = min(entered for entered, _ in progress.values())
        behind = [number for number, (entered, _) in progress.items() if entered == least]
        named = [
            f"rank {number}" for number in absent or (behind if len(behind) < len(progress) else [])
        ]
        lines += [
            f"rank {number}: entered collective {entered}, finished {done}"
            for number, (entered, done) in sorted(progress.items())
        ]
    who = (
        f"{listed(list(dict.fromkeys(named)))} never entered it"
        if named
        else "one rank did not take part"
    )
    first = named[0].removeprefix("rank ") if named else "0"
    yield Cause(
        88 if named else 80,
        f"a collective timed out: {who}",
        tuple(dict.fromkeys(lines))[: _MOST_LINES + 5],
        f"{program()} train.logs --name {facts.name} --rank {first} --tail 100",
    )


def _cause(facts: Facts, symptom: Symptom, matches: list[tuple[str, str, re.Match[str]]]) -> Cause:
    host, line, match = matches[0]
    node: dict[str, str] = next((node for node in facts.places if node["host"] == host), {})
    words = {
        "host": host,
        "name": facts.name,
        "resume": facts.resume,
        "smaller_batch": facts.smaller_batch,
        "python": node.get("python", "python3"),
        "root": node.get("root", "the run's folder"),
        "logs": facts.logs(host, line),
        **{name: value or "" for name, value in match.groupdict().items()},
    }
    score = (
        symptom.score
        + (4 if host == facts.failure.get("node") else 0)
        - (_NOT_SURE if facts.going_on else 0)
    )
    lines = dict.fromkeys(quoted(host, line) for host, line, _ in matches)
    title, remedy = symptom.title.format(**words), symptom.remedy.format(**words)
    return Cause(max(5, min(99, score)), title, tuple(lines)[:_MOST_LINES], remedy)


def _exceptions(facts: Facts, output: list[tuple[str, str]]) -> Iterator[Cause]:
    """An exception that none of the symptoms knows is still the best thing to read first."""
    for host, line in output:
        match = _EXCEPTION.match(line)
        if match and not _ENDED.search(line):
            score = 60 - (_NOT_SURE if facts.going_on else 0)
            yield Cause(
                score,
                f"an exception on {host}: {match[1]}",
                (quoted(host, line),),
                facts.logs(host, line),
            )
            return
