"""The server: on loopback, until Ctrl-C; the link it prints lets one browser in."""

from __future__ import annotations

import gc
import sys
import webbrowser

from playrunner.cloud.extras import packages_of
from playrunner.frozen import frozen
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.ssh.port_forward import LOOPBACK, loopback_listener


@frozen
class PageSettings:
    port: int = 0
    allow_actions: bool = False
    open_browser: bool = False
    interval: float = 5.0  # seconds between two looks at the nodes; 0: never


def serve(settings: PageSettings, options: Options) -> int:
    with packages_of("page", "the page needs starlette, uvicorn and plotly"):
        import uvicorn

        from playrunner.page.access import Keys
        from playrunner.page.app import application
        from playrunner.page.live import Live
        from playrunner.page.reports import plotly_script
        from playrunner.page.site import Site
    plotly_script()
    gc.enable()  # turned off while the program loads
    listener = loopback_listener(settings.port)
    port = listener.getsockname()[1]
    keys = Keys(port, lambda: _say_again(_link(port, keys.token), options.json))
    site = Site(keys, Live(options, settings.interval), options, settings.allow_actions)
    server = uvicorn.Server(
        uvicorn.Config(
            application(site),
            log_level="error",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
            server_header=False,
        )
    )
    show_link(_link(port, keys.token), settings, options)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    return 0


def _link(port: int, token: str) -> str:
    return f"http://{LOOPBACK}:{port}/?token={token}"


def show_link(link: str, settings: PageSettings, options: Options) -> None:
    if options.json:
        print_json({"url": link})
    else:
        print(f"{link}\nopen this link in a browser; it works once (Ctrl-C ends)")
    sys.stdout.flush()
    if settings.open_browser:
        webbrowser.open(link)


def _say_again(link: str, as_json: bool) -> None:
    if not as_json:
        print(f"for another browser: {link}", flush=True)
