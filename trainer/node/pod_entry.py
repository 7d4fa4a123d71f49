"""A pod's entry point: unpack the code, wait for the pod that hosts the rendezvous, then execute
torchrun with the arguments given here. With --alone, execute Python instead, for a pod that works
by itself; with --over-ssh, a pod whose ranks are started over SSH.

It is sent as a single file and runs before anything else is installed: standard library only.

TRAINER_CODE   an archive of the trainer; without it, the image has it
TRAINER_WITHIN a program to run torchrun with (neuron_parallel_compile)
TRAINER_REHEARSAL  steps=4,processes=1: that many processes, whatever the arguments say
TRAINER_WORK   the working folder of a script of the user's own, which pod_script.py runs
TRAINER_FIRST  the pod that hosts the rendezvous, as POD_NAME=run-master-0; unset where etcd does
"""

from __future__ import annotations

import os
import socket
import sys
import tarfile
import tempfile
import time
from typing import NoReturn

RENDEZVOUS_SECONDS = 1800.0  # an image of several GB is pulled on one node sooner than on another
LOG_SECONDS = 15.0
_INTERFACES = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "CCOM_SOCKET_IFNAME")


def main(arguments: list[str]) -> int:
    folder = tempfile.mkdtemp(prefix="playrunner-")
    environment = _with_interfaces(
        {**os.environ, **_code(folder), "TRAINER_NODE": os.path.join(folder, "node")}
    )
    os.makedirs(environment["TRAINER_NODE"])
    if os.environ.get("TRAINER_REHEARSAL"):
        arguments = _rehearsed(arguments)
        environment["OMP_NUM_THREADS"] = "1"  # the pods of all nodes share one machine
    if arguments[:1] == ["--over-ssh"]:
        program = [sys.executable, "-u", "-m", "trainer.node.pod_ssh_entry", *arguments[1:]]
        _execute(program, environment)
    if arguments[:1] == ["--alone"]:
        os.execve(sys.executable, [sys.executable, "-u", *arguments[1:]], environment)
    named, _, value = os.environ.get("TRAINER_FIRST", "").partition("=")
    first = bool(named) and os.environ.get(named) == value
    backend, endpoint = _last(arguments, "rdzv_backend"), _last(arguments, "rdzv_endpoint")
    if endpoint and not first and not wait_for(endpoint):
        return 69
    if backend == "c10d":
        # Torch would compare names and addresses to find out whether it is the host; here it is
        # known.
        arguments = _added(arguments, "rdzv_conf", f"is_host={int(first)}")
    if os.environ.get("POD_IP"):
        arguments = [f"--local_addr={os.environ['POD_IP']}", *arguments]
    program = [
        *os.environ.get("TRAINER_WITHIN", "").split(),
        sys.executable,
        "-u",
        "-m",
        "trainer.torchrun",
        *arguments,
    ]
    _execute(program, environment)


def _execute(program: list[str], environment: dict[str, str]) -> NoReturn:
    if environment.get("TRAINER_WORK"):
        program = [sys.executable, "-u", "-m", "trainer.node.pod_script", *program]
    sys.stdout.flush()
    os.execvpe(program[0], program, environment)


def _code(folder: str) -> dict[str, str]:
    archive = os.environ.get("TRAINER_CODE")
    if not archive:
        return {}
    with tarfile.open(archive) as packed:
        packed.extractall(folder)  # our own, by its hash
    return {"PYTHONPATH": os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH", "")]))}


def _rehearsed(arguments: list[str]) -> list[str]:
    """With fewer processes: this machine has fewer devices than the nodes that it stands for."""
    processes = os.environ.get("TRAINER_REHEARSAL", "").partition("processes=")[2]
    at = _program_at(arguments)
    return [
        f"{argument.partition('=')[0]}={processes}"
        if processes and argument.startswith(("--nproc_per_node=", "--slots="))
        else argument
        for argument in arguments[:at]
    ] + arguments[at:]


def _with_interfaces(environment: dict[str, str]) -> dict[str, str]:
    """Drop interfaces that this pod does not have; torch then uses that of the pod's address."""
    present = {name for _, name in socket.if_nameindex()}
    kept = dict(environment)
    for variable in _INTERFACES:
        interface = kept.get(variable, "").lstrip("=")
        if not interface or interface.startswith("^") or interface in present:
            continue
        if kept.get("POD_IP", "").startswith("127."):
            kept[variable] = kept[variable].replace(interface, "lo")
            continue
        print(
            f"pod: ignoring {variable}={kept.pop(variable)}: this pod has no such interface (it has"
            f" {', '.join(sorted(present))})",
            flush=True,
        )
    return kept


def wait_for(endpoint: str) -> bool:
    """Wait until the pod that hosts the rendezvous accepts connections; False after the timeout."""
    host, _, port = endpoint.rpartition(":")
    started = logged = time.monotonic()
    while True:
        try:
            with socket.create_connection((host, int(port)), 5):
                return True
        except OSError as error:
            reason = error
        waited = time.monotonic() - started
        if waited > RENDEZVOUS_SECONDS:
            print(
                f"pod: {endpoint} did not answer within {RENDEZVOUS_SECONDS:g} s: {reason}",
                flush=True,
            )
            return False
        if time.monotonic() - logged > LOG_SECONDS:
            logged = time.monotonic()
            print(f"pod: waiting for {endpoint} ({waited:.0f} s): {reason}", flush=True)
        time.sleep(0.5)


def _last(arguments: list[str], flag: str) -> str:
    """The value of the last such flag: an operator may have put its own before ours."""
    values = [
        argument.partition("=")[2]
        for argument in arguments[: _program_at(arguments)]
        if argument.lstrip("-").replace("-", "_").startswith(f"{flag}=")
    ]
    return values[-1] if values else ""


def _program_at(arguments: list[str]) -> int:
    """What comes after is the program's own."""
    return arguments.index("-m") if "-m" in arguments else len(arguments)


def _added(arguments: list[str], flag: str, setting: str) -> list[str]:
    current = _last(arguments, flag)
    at = _program_at(arguments)
    return [
        *arguments[:at],
        f"--{flag}={','.join(filter(None, [current, setting]))}",
        *arguments[at:],
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
