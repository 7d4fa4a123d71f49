"""The twenty steps of play.yaml as a pyinfra deploy."""

from pathlib import Path

from pyinfra import host
from pyinfra.facts.files import File
from pyinfra.facts.server import Arch, Hostname, Kernel
from pyinfra.operations import files, server

TEMPLATES = Path(__file__).parents[1] / "templates"

scratch = host.data.scratch
app = f"{scratch}/app"
limits = f"{scratch}/etc/limits.conf"
values = {
    "app": app,
    "service": "gateway",
    "listen_port": 8080,
    "peers": ["alpha", "beta", "gamma"],
    "features": {"cache": True, "tracing": False, "workers": 8},
    "inventory_hostname": host.name,
    "ansible_facts": {
        "system": host.get_fact(Kernel),
        "architecture": host.get_fact(Arch),
        "hostname": host.get_fact(Hostname).split(".")[0],
    },
}


def templated(name: str, source: str, folder: str, mode: str | None) -> None:
    files.template(
        name=name,
        src=str(TEMPLATES / f"{source}.j2"),
        dest=f"{app}/{folder}/{source}",
        mode=mode,
        jinja_env_kwargs={"trim_blocks": True},
        **values,
    )


files.directory(name="Configuration directory", path=f"{app}/conf", mode="755")
files.directory(name="Release directory", path=f"{app}/release-1", mode="750")

templated("Main configuration", "main.conf", "conf", "644")
templated("Peers", "peers.conf", "conf", "644")
templated("Features", "features.json", "conf", "644")
templated("Identity", "identity", "conf", "644")
templated("Logging", "logging.conf", "conf", "644")
templated("Environment", "service.env", "conf", "600")
templated("Unit", "service.unit", "conf", "644")
templated("Start script", "start.sh", "release-1", None)

files.put(name="Payload", src=host.data.payload, dest=f"{app}/release-1/payload.bin", mode="644")
files.file(name="Start script is executable", path=f"{app}/release-1/start.sh", mode="750")

files.line(name="Limit of workers", path=limits, line="^workers = .*$", replace="workers = 8")
files.line(
    name="Limit of open files", path=limits, line="^open_files = .*$", replace="open_files = 4096"
)
files.line(
    name="Limit of memory", path=limits, line="^memory_mib = 512$", replace="memory_mib = 512"
)
files.line(
    name="Limit of time", path=limits, line="^timeout_seconds = 80$", replace="timeout_seconds = 80"
)

if not host.get_fact(File, path=f"{app}/release-1/payload.sha256"):
    server.shell(
        name="Checksum of the payload",
        commands=[f"cd {app}/release-1 && sha256sum payload.bin > payload.sha256"],
    )
if not host.get_fact(File, path=f"{app}/conf/main.conf.first"):
    server.shell(
        name="First configuration is kept",
        commands=[f"cd {app}/conf && cp main.conf main.conf.first"],
    )
files.link(name="Current release", path=f"{app}/current", target="release-1")
