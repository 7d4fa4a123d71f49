"""`python -m playrunner.sandbox.aws.api.server --port N --port-file F`: the pretend AWS, in the
foreground, on 127.0.0.1 only."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
from pathlib import Path
from typing import Any

from playrunner.sandbox.aws.ec2 import images

os.environ.setdefault("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")
os.environ.setdefault("MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION", "true")
os.environ.setdefault("MOTO_ACCOUNT_ID", "123456789012")
for _name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
    os.environ.pop(_name, None)

ADDRESS = "127.0.0.1"


def main(arguments: list[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    listing = asked.port_file.with_name("images.json")
    images.write(listing)
    os.environ["MOTO_AMIS_PATH"] = str(listing)  # read when moto is imported, below
    from werkzeug.serving import make_server

    from playrunner.sandbox.aws.api.front import Front
    from playrunner.sandbox.state import write_file

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    front = Front(asked.port_file.parent)
    server = make_server(ADDRESS, asked.port, front, threaded=True, request_handler=_handler())
    write_file(asked.port_file, f"{server.server_port}\n")
    threading.Thread(target=front.warm_up, daemon=True).start()
    server.serve_forever()
    return 0


def _handler() -> Any:
    from moto.moto_server.werkzeug_app import MotoRequestHandler

    class Quiet(MotoRequestHandler):
        """Says nothing about requests: `/_sandbox/calls` does."""

        def log_request(self, code: Any = "-", size: Any = "-") -> None:
            pass

        def connection_dropped(self, error: BaseException, environ: Any = None) -> None:
            pass

    return Quiet


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m playrunner.sandbox.aws.api.server", description=__doc__
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument(
        "--port-file", type=Path, required=True, help="where to write the port once it listens"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
