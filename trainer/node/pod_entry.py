"""A pod's start: its code is unpacked, the pod at which all meet is awaited, then torchrun takes
over with the words given here. After --alone, Python takes over instead, for what one pod does by
itself; after --over-ssh, one whose ranks are started over SSH.

It travels as a file of its own and runs before anything else is there: standard library only.

TRAINER_CODE   an archive of the trainer; without it, the image has it
TRAINER_WITHIN a program that torchrun is to run within (neuron_parallel_compile)
TRAINER_FIRST  how the pod that hosts the meeting knows itself, as POD_NAME=run-master-0; not set where etcd hosts it
"""

from __future__ import annotations

import os
import socket
import sys
import tarfile
import tempfile
import time

MEET_SECONDS = 1800.0  # an image of several GB is pulled on one node sooner than on another
SAY_SECONDS = 15.0
_INTERFACES = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "CCOM_SOCKET_IFNAME")


def main(words: list[str]) -> int:
    folder = tempfile.mkdtemp(prefix="playrunner-")
    environment = _with_interfaces(
        {**os.environ, **_code(folder), "TRAINER_NODE": os.path.join(folder, "node")}
    )
    os.makedirs(environment["TRAINER_NODE"])
    if words[:1] == ["--over-ssh"]:
        words = ["--alone", "-m", "trainer.node.pod_ssh_entry", *words[1:]]
    if words[:1] == ["--alone"]:
        os.execve(sys.executable, [sys.executable, "-u", *words[1:]], environment)
    named, _, value = os.environ.get("TRAINER_FIRST", "").partition("=")
    first = bool(named) and os.environ.get(named) == value
    backend, endpoint = _last(words, "rdzv_backend"), _last(words, "rdzv_endpoint")
    if endpoint and not first and not reached(endpoint):
        return 69
    if backend == "c10d":
        # Torch would compare names and addresses to find out whether it is the host; here it is
        # known.
        words = _added(words, "rdzv_conf", f"is_host={int(first)}")
    if os.environ.get("POD_IP"):
        words = [f"--local_addr={os.environ['POD_IP']}", *words]
    program = [
        *os.environ.get("TRAINER_WITHIN", "").split(),
        sys.executable,
        "-u",
        "-m",
        "trainer.torchrun",
        *words,
    ]
    sys.stdout.flush()
    os.execvpe(program[0], program, environment)


def _code(folder: str) -> dict[str, str]:
    archive = os.environ.get("TRAINER_CODE")
    if not archive:
        return {}
    with tarfile.open(archive) as packed:
        packed.extractall(folder)  # our own, by its hash
    return {"PYTHONPATH": os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH", "")]))}


def _with_interfaces(environment: dict[str, str]) -> dict[str, str]:
    """Interfaces that this pod does not have are left to torch, which then takes that of the pod's
    address."""
    there = {name for _, name in socket.if_nameindex()}
    found = dict(environment)
    for variable in _INTERFACES:
        interface = found.get(variable, "").lstrip("=")
        if not interface or interface.startswith("^") or interface in there:
            continue
        if found.get("POD_IP", "").startswith("127."):
            found[variable] = found[variable].replace(interface, "lo")
            continue
        print(
            f"pod: {variable}={found.pop(variable)}, and there is no such interface here"
            f" ({', '.join(sorted(there))}); it is not used",
            flush=True,
        )
    return found


def reached(endpoint: str) -> bool:
    """Until the pod at which all meet answers: its name comes with it, and it listens only once it
    runs."""
    host, _, port = endpoint.rpartition(":")
    started = said = time.monotonic()
    while True:
        try:
            with socket.create_connection((host, int(port)), 5):
                return True
        except OSError as error:
            why = error
        waited = time.monotonic() - started
        if waited > MEET_SECONDS:
            print(f"pod: {endpoint} did not answer within {MEET_SECONDS:g} s: {why}", flush=True)
            return False
        if time.monotonic() - said > SAY_SECONDS:
            said = time.monotonic()
            print(f"pod: waiting for {endpoint} ({waited:.0f} s): {why}", flush=True)
        time.sleep(0.5)


def _last(words: list[str], flag: str) -> str:
    """Of two flags the later one counts: an operator may have put its own before ours."""
    found = [
        word.partition("=")[2]
        for word in words
        if word.lstrip("-").replace("-", "_").startswith(f"{flag}=")
    ]
    return found[-1] if found else ""


def _added(words: list[str], flag: str, setting: str) -> list[str]:
    given = _last(words, flag)
    at = words.index("-m") if "-m" in words else len(words)
    return [*words[:at], f"--{flag}={','.join(filter(None, [given, setting]))}", *words[at:]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
