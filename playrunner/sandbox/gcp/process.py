"""The pretend Google Cloud as a background process: start it, look at it, end it; and the keys to
come in with."""

from __future__ import annotations

import json
import secrets
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from playrunner.sandbox import state
from playrunner.sandbox.gcp.auth import Entrance
from playrunner.sandbox.gcp.gcp_state import PROJECT, ZONE
from playrunner.sandbox.http.background import Background

LOCK = "gcp-lock"
MODULE = "playrunner.sandbox.gcp.server"
ACCOUNT = f"sandbox@{PROJECT}.iam.gserviceaccount.com"
TOKEN_SECONDS = 30 * 86400  # of the token for tools that take one from a file and cannot renew it


@dataclass(frozen=True)
class Gcp:
    """Where the pretend Google Cloud listens, and what a client needs to talk to it."""

    endpoint_url: str
    project: str
    zone: str
    credentials_file: str  # a service account's key, as google-auth reads it
    token_file: str
    pid: int | None = None
    alive: bool = False

    def environment(self) -> dict[str, str]:
        """What gcloud and Google's Python libraries read."""
        base = self.endpoint_url
        ends = {
            "CONTAINER": "/",
            "COMPUTE": "/compute/v1/",
            "STORAGE": "/storage/v1/",
            "ARTIFACTREGISTRY": "/",
            "SERVICEUSAGE": "/",
            "CLOUDRESOURCEMANAGER": "/",
        }
        return {
            **{
                f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name}": f"{base}{end}"
                for name, end in ends.items()
            },
            "CLOUDSDK_CORE_PROJECT": self.project,
            "CLOUDSDK_COMPUTE_ZONE": self.zone,
            "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": self.token_file,
            "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
            "GOOGLE_APPLICATION_CREDENTIALS": self.credentials_file,
            "GOOGLE_CLOUD_PROJECT": self.project,
        }

    def summary(self) -> dict[str, object]:
        return asdict(self)


def up(root: Path) -> Gcp:
    """Bring it up, or keep it as it is when it is healthy; returns when it answers."""
    with state.locked(root, LOCK):
        known = status(root)
        if known is not None and known.alive:
            return known
        server = _server(root)
        server.end()
        server.folder.mkdir(mode=0o700, exist_ok=True)
        _make_keys(server.folder)
        # The same port as before, for those who noted it down.
        pid, endpoint = server.start(known.endpoint_url.rpartition(":")[2] if known else "0")
        gcp = Gcp(
            endpoint, PROJECT, ZONE, str(root / "gcp-account.json"), str(server.folder / "token")
        )
        _write_account(Path(gcp.credentials_file), server.folder, endpoint)
        record = {
            name: value for name, value in asdict(gcp).items() if name not in ("pid", "alive")
        }
        state.write_file(record_file(root), json.dumps(record, indent=2) + "\n")
        return Gcp(**record, pid=pid, alive=True)


def status(root: Path) -> Gcp | None:
    """What was brought up in this folder, alive or not."""
    try:
        record = json.loads(record_file(root).read_text())
    except FileNotFoundError:
        return None
    server = _server(root)
    pids = server.processes()
    alive = bool(pids) and server.answers(record["endpoint_url"])
    return Gcp(**record, pid=min(pids, default=None), alive=alive)


def down(root: Path) -> None:
    """End it and forget everything in it; nothing to do when it is not up."""
    if not root.is_dir():
        return
    with state.locked(root, LOCK):
        _server(root).end()
        state.remove_tree(root / "gcp")
        for file in (record_file(root), root / "gcp-account.json"):
            file.unlink(missing_ok=True)
        (root / LOCK).unlink()
        with suppress(OSError):  # something else keeps files there
            root.rmdir()


def record_file(root: Path) -> Path:
    """Where its address is kept, for inventories to read."""
    return root / "gcp.json"


def _server(root: Path) -> Background:
    return Background(root, "gcp", MODULE, "the pretend Google Cloud")


def _make_keys(folder: Path) -> None:
    """A secret that seals tokens, a service account's key, and a token for tools that want one in a
    file."""
    if not (folder / "secret").exists():
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import rsa

        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        state.write_file(folder / "account.key", private.decode())
        state.write_file(folder / "account.pub", public.decode())
        state.write_file(folder / "secret", secrets.token_urlsafe(32) + "\n")
    state.write_file(
        folder / "token", Entrance(folder).token(ACCOUNT, time.time() + TOKEN_SECONDS) + "\n"
    )


def _write_account(file: Path, folder: Path, endpoint: str) -> None:
    account = {
        "type": "service_account",
        "project_id": PROJECT,
        "private_key_id": "sandbox",
        "client_email": ACCOUNT,
        "private_key": (folder / "account.key").read_text(),
        "client_id": "100000000000000000000",
        "auth_uri": f"{endpoint}/auth",
        "token_uri": f"{endpoint}/token",
        "universe_domain": "googleapis.com",
    }
    state.write_file(file, json.dumps(account, indent=2) + "\n")
