"""The pretend AWS as a background process: start it, look at it, end it. Does not need moto until
it starts one."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from playrunner.project import install_extra
from playrunner.sandbox import state
from playrunner.sandbox.aws.api import keys
from playrunner.sandbox.http.background import Background, environment
from playrunner.sandbox.state import SandboxError

REGION = "us-west-2"
PROFILE = "sandbox"
LOCK = "aws-lock"  # of its own: it takes seconds to start, and the nodes need not wait for it
MODULE = "playrunner.sandbox.aws.api.server"


@dataclass(frozen=True)
class Aws:
    """Where the pretend AWS listens, and what a client needs to talk to it."""

    endpoint_url: str
    region: str
    access_key_id: str
    secret_access_key: str
    pid: int | None = None
    alive: bool = False

    def environment(self) -> dict[str, str]:
        """What boto3 and the aws CLI read."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def summary(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if name != "secret_access_key"}


def up(root: Path) -> Aws:
    """Bring it up, or keep it as it is when it is healthy; returns when it answers."""
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("flask") is None:
        raise SandboxError(
            f"the pretend AWS needs moto; install it with: {install_extra('sandbox')}"
        )
    with state.locked(root, LOCK):
        known = status(root)
        if known is not None and known.alive:
            return known
        _server(root).end()
        (root / "aws").mkdir(mode=0o700, exist_ok=True)
        return _started(root, known)


def up_later(root: Path) -> None:
    """Start it from another process, where moto is installed: it takes some seconds that the caller
    need not wait for."""
    known = status(root)
    if importlib.util.find_spec("moto") is None or (known is not None and known.alive):
        return
    subprocess.Popen(
        [sys.executable, "-m", "playrunner.sandbox", "up", "--only", "aws"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    )


def status(root: Path) -> Aws | None:
    """What was brought up in this folder, alive or not."""
    try:
        record = json.loads(record_file(root).read_text())
    except FileNotFoundError:
        return None
    pids = _server(root).processes()
    aws = Aws(**record)
    return Aws(
        **record,
        pid=min(pids, default=None),
        alive=bool(pids) and _server(root).answers(aws.endpoint_url),
    )


def down(root: Path) -> None:
    """End it and forget everything in it; nothing to do when it is not up."""
    if not root.is_dir():
        return
    with state.locked(root, LOCK):
        _server(root).end()
        state.remove_tree(root / "aws")
        record_file(root).unlink(missing_ok=True)
        credentials_file(root).unlink(missing_ok=True)
        (root / LOCK).unlink()
        with suppress(OSError):  # something else keeps files there
            root.rmdir()


def record_file(root: Path) -> Path:
    """Where its address and keys are kept, for inventories to read."""
    return root / "aws.json"


def credentials_file(root: Path) -> Path:
    """The keys in the form that AWS's own tools read, so that they need not be copied into an
    inventory."""
    return root / "aws-credentials"


def _profile(aws: Aws) -> str:
    return (
        f"[{PROFILE}]\naws_access_key_id = {aws.access_key_id}\naws_secret_access_key ="
        f" {aws.secret_access_key}\n"
    )


def _started(root: Path, known: Aws | None) -> Aws:
    # The same keys and port as before, for those who noted them down.
    pair = (known.access_key_id, known.secret_access_key) if known else keys.made()
    keys.write(root / "aws", pair)
    pid, endpoint = _server(root).start(known.endpoint_url.rpartition(":")[2] if known else "0")
    aws = Aws(endpoint, REGION, *pair)
    record = {name: value for name, value in asdict(aws).items() if name not in ("pid", "alive")}
    state.write_file(record_file(root), json.dumps(record, indent=2) + "\n")
    state.write_file(credentials_file(root), _profile(aws))
    return Aws(**record, pid=pid, alive=True)


def _server(root: Path) -> Background:
    return Background(root, "aws", MODULE, "the pretend AWS")
