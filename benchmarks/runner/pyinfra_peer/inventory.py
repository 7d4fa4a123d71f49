"""The benchmark's hosts, as pyinfra reads them."""

import json
import os
from pathlib import Path

_stage = json.loads(Path(os.environ["BENCH_STAGE"]).read_text())

nodes = [
    (
        host["name"],
        {
            "ssh_hostname": host["address"],
            "ssh_port": host["port"],
            "ssh_user": _stage["user"],
            "ssh_key": _stage["key_file"],
            "ssh_known_hosts_file": _stage["known_hosts_file"],
            "ssh_strict_host_key_checking": "yes",
            "ssh_look_for_keys": False,
            "ssh_allow_agent": False,
            "scratch": host["scratch"],
            "payload": _stage["payload"],
        },
    )
    for host in _stage["hosts"]
]
