"""The trainer's tests: quick ones in this process, and `processes` ones that start real training
runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

SECRET = "never-to-be-printed"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "processes: starts training processes; leave out with -m 'not processes'"
    )


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Points everything that speaks S3 from here on at an address."""
    s3fs = pytest.importorskip("s3fs")

    def point(address: str) -> dict[str, str]:
        settings = {
            "AWS_ENDPOINT_URL": address,
            "AWS_ACCESS_KEY_ID": "someone",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_MAX_ATTEMPTS": "1",
        }
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        return settings

    yield point
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def store(endpoint: Any) -> Iterator[Any]:
    """An empty bucket, as a file system."""
    moto = pytest.importorskip("moto.server")
    import s3fs

    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint(f"http://{host}:{port}")
    files = s3fs.S3FileSystem()
    files.mkdir("bucket")
    yield files
    files.rm("bucket", recursive=True)
    server.stop()
