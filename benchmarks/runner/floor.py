"""The floor: the twenty steps by hand. One agent program per host over paramiko, all steps in one
message, no more.

`python floor.py STAGE.json [--check]`. Nothing is loaded, templated or recorded; the files' texts
are put together with plain string formatting. A runner that reads playbooks cannot be much faster,
and should not be much slower.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import socket
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import paramiko

AGENT = zlib.compress(Path(__file__).with_name("floor_agent.py").read_bytes(), 6)
START = f"import sys,zlib;exec(zlib.decompress(sys.stdin.buffer.read({len(AGENT)})))"
SERVICE, PORT, PEERS = "gateway", 8080, ["alpha", "beta", "gamma"]


def main() -> int:
    stage = json.loads(Path(sys.argv[1]).read_text())
    check = "--check" in sys.argv
    key = paramiko.Ed25519Key.from_private_key_file(stage["key_file"])
    host_keys = known_hosts(Path(stage["known_hosts_file"]))
    payload = Path(stage["payload"]).read_bytes()
    digest = hashlib.sha1(payload).hexdigest()

    def run(host: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        steps = twenty_steps(host["name"], host["scratch"], len(payload), digest)
        transport = connect(
            host, stage["user"], key, host_keys[f"[{host['address']}]:{host['port']}"]
        )
        try:
            return host["name"], converse(transport, {"check": check, "steps": steps}, payload)
        finally:
            transport.close()

    with ThreadPoolExecutor(len(stage["hosts"])) as pool:
        results = dict(pool.map(run, stage["hosts"]))
    for name, said in results.items():
        print(f"{name}: changed={sum(result['changed'] for result in said['results'])}")
    return 0


def known_hosts(file: Path) -> dict[str, str]:
    lines = (line.split() for line in file.read_text().splitlines())
    return {name: key for name, _, key in lines}


def connect(
    host: dict[str, Any], user: str, key: paramiko.PKey, host_key: str
) -> paramiko.Transport:
    sock = socket.create_connection((host["address"], host["port"]))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    transport = paramiko.Transport(sock)
    transport.start_client(timeout=30)
    if transport.get_remote_server_key().get_base64() != host_key:
        raise SystemExit(f"{host['name']}: another host key than the known one")
    transport.auth_publickey(user, key)
    return transport


def converse(
    transport: paramiko.Transport, request: dict[str, Any], payload: bytes
) -> dict[str, Any]:
    channel = transport.open_session()
    channel.exec_command(f"exec python3 -IS -c {shlex.quote(START)}")
    channel.sendall(AGENT + json.dumps(request).encode() + b"\n")
    incoming = channel.makefile("rb")
    reply = json.loads(incoming.readline() or "{}")
    if "need" in reply:
        channel.sendall(payload)
        reply = json.loads(incoming.readline() or "{}")
    if "results" not in reply:
        raise SystemExit(channel.makefile_stderr().read().decode())
    return reply  # type: ignore[no-any-return]


def twenty_steps(name: str, scratch: str, size: int, digest: str) -> list[dict[str, Any]]:
    """All but the first, the facts, which the agent gathers unasked."""
    app, limits = f"{scratch}/app", f"{scratch}/etc/limits.conf"
    conf, release = f"{app}/conf", f"{app}/release-1"
    steps: list[dict[str, Any]] = [
        {"do": "directory", "path": conf, "mode": 0o755},
        {"do": "directory", "path": release, "mode": 0o750},
    ]
    for path, text in texts(name, app).items():
        mode = 0o600 if path.endswith(".env") else None if path.endswith(".sh") else 0o644
        steps.append({"do": "content", "path": f"{app}/{path}", "text": text, "mode": mode})
    steps += [
        {
            "do": "payload",
            "path": f"{release}/payload.bin",
            "size": size,
            "sha1": digest,
            "mode": 0o644,
        },
        {"do": "mode", "path": f"{release}/start.sh", "mode": 0o750},
        {"do": "line", "path": limits, "start": "workers = ", "line": "workers = 8"},
        {"do": "line", "path": limits, "start": "open_files = ", "line": "open_files = 4096"},
        {"do": "line", "path": limits, "start": None, "line": "memory_mib = 512"},
        {"do": "line", "path": limits, "start": None, "line": "timeout_seconds = 80"},
    ]
    checksum = ["sh", "-c", "sha256sum payload.bin > payload.sha256"]
    steps += [
        {"do": "command", "command": checksum, "folder": release, "creates": "payload.sha256"},
        {
            "do": "command",
            "command": ["cp", "main.conf", "main.conf.first"],
            "folder": conf,
            "creates": "main.conf.first",
        },
        {"do": "link", "path": f"{app}/current", "target": "release-1"},
    ]
    return [{"name": str(number), **step} for number, step in enumerate(steps, start=2)]


def texts(name: str, app: str) -> dict[str, str]:
    """What the eight templates come to on this host; the agent fills in @facts@."""
    peers = [
        f"peer {number}: {peer}.{SERVICE}.internal:{PORT + number}\n"
        for number, peer in enumerate(PEERS, 1)
    ]
    channels = [f"channel.{number} = {SERVICE}/{name}/{number}\n" for number in range(1, 41)]
    server = (
        f"[server]\nname = {name}\nlisten = 0.0.0.0:{PORT}\nroot = {app}\nworkers = 8\ntracing ="
        " off\n"
    )
    unit = f"[Unit]\nDescription=Gateway on {name}\n\n[Service]\nExecStart={app}/current/start.sh\n"
    return {
        "conf/main.conf": f"# {SERVICE} on {name}\n{server}",
        "conf/peers.conf": "".join(peers),
        "conf/features.json": '{"cache": true, "tracing": false, "workers": 8}\n',
        "conf/identity": f"{name} @system@ @architecture@ @hostname@\n",
        "conf/logging.conf": "[GATEWAY]\nlevel = info\n" + "".join(channels),
        "conf/service.env": f"SERVICE={SERVICE}\nHOST={name}\nPEERS={','.join(PEERS)}\nCACHE=yes\n",
        "conf/service.unit": f"{unit}EnvironmentFile={app}/conf/service.env\n",
        "release-1/start.sh": (
            f"#!/bin/sh\nexec {SERVICE} --config {app}/conf/main.conf --port {PORT}\n"
        ),
    }


if __name__ == "__main__":
    sys.exit(main())
