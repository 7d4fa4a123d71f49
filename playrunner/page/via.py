"""The page of another host, such as the jump host, forwarded to this machine over SSH."""

from __future__ import annotations

import shlex
import threading
from urllib.parse import SplitResult, urlsplit

from playrunner.errors import BadInput, PlayrunnerError
from playrunner.options import Options
from playrunner.page.server import PageSettings, show_link
from playrunner.project import install_extra
from playrunner.ssh.connection import Channel
from playrunner.ssh.fleet import Fleet
from playrunner.ssh.port_forward import LOOPBACK, PortForward, wait_until_closed
from playrunner.text.documents import json_object
from playrunner.training.node_shell import in_shell
from playrunner.variables.asked_inventory import open_inventory

START_SECONDS = 60.0
_MOST_BYTES = 65536


class PageFailed(PlayrunnerError):
    """The page does not run on the host."""

    exit_code = 6


def serve_via(host: str, settings: PageSettings, options: Options) -> int:
    """Until Ctrl-C; the page on the host ends with the connection."""
    inventory = open_inventory(options)
    if host not in inventory.hosts:
        raise BadInput(f'--via: the inventory has no host "{host}"')
    forward = PortForward(settings.port)  # first: a port in use is reported at once
    with Fleet(inventory) as fleet:
        home = str(fleet.variable(host, "jumphost_home", "") or "")
        channel = fleet.start(host, _command(home, settings))
        try:
            link = _link(host, channel)
            port = link.port or 0
            forward.serve(lambda: fleet.agents.pool.get(fleet.target(host)).forward(LOOPBACK, port))
            show_link(f"{forward.url}?{link.query}", settings, options)
            _wait(host, channel)
        except KeyboardInterrupt:
            return 0
        finally:
            forward.close()
            channel.close()
    return 0


def _command(home: str, settings: PageSettings) -> str:
    """The page on the host; `cat` ends it when the connection does."""
    flags = f"--json --interval={settings.interval:g}"
    flags += " --allow-actions" if settings.allow_actions else ""
    place = ""
    if home:
        folder = in_shell(home)
        place = f"PATH={folder}/bin:$PATH; export PATH; cd {folder}/current 2>/dev/null; "
    # What a shell has in the background reads nothing unless it is told to
    script = (
        f"exec 3<&0; {place}playrunner page {flags} </dev/null & page=$!;"
        " { cat <&3 >/dev/null; kill $page; } 2>/dev/null & wait $page"
    )
    return f"exec sh -c {shlex.quote(script)}"


def _link(host: str, channel: Channel) -> SplitResult:
    heard = bytearray()
    ready = threading.Event()

    def listen() -> None:
        try:
            while len(heard) < _MOST_BYTES and (data := channel.receive()):
                heard.extend(data)
                if json_object(bytes(heard).strip()):
                    break
        except (OSError, EOFError):
            pass
        ready.set()

    threading.Thread(target=listen, daemon=True).start()
    if not ready.wait(START_SECONDS):
        raise PageFailed(f"{host}: the page did not start within {START_SECONDS:g} s")
    answer = json_object(bytes(heard).strip()) or {}
    if "url" not in answer:
        reason = answer.get("error") or channel.stderr_text().strip() or "it printed nothing"
        raise PageFailed(
            f"{host}: the page did not start: {reason}; on the host: {install_extra('page')}"
        )
    return urlsplit(str(answer["url"]))


def _wait(host: str, channel: Channel) -> None:
    wait_until_closed(channel)
    raise PageFailed(f"{host}: the page ended: {channel.stderr_text().strip()[-500:]}")
