"""Asked inside a pod: does a name resolve, does a port answer? `python3 -c SOURCE SECONDS
HOST:PORT...` prints a JSON line each.

It is sent as text: standard library only, and no word about the program that sends it.
"""

import json
import socket
import sys
import time


def looked_up(host: str, until: float) -> tuple[list[str], str]:
    """Its addresses; a name may come late, so it is asked for again until then."""
    while True:
        try:
            return sorted(
                {str(one[4][0]) for one in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
            ), ""
        except OSError as error:
            if time.monotonic() >= until:
                return [], str(error)
            time.sleep(0.5)


def connected(host: str, port: int, until: float) -> tuple[float, str]:
    """Seconds that a connection took; or why there was none."""
    while True:
        began = time.monotonic()
        try:
            with socket.create_connection((host, port), 5):
                return time.monotonic() - began, ""
        except OSError as error:
            if time.monotonic() >= until:
                return 0.0, str(error)
            time.sleep(0.5)


def main(words: list[str]) -> None:
    until = time.monotonic() + float(words[0])
    for target in words[1:]:
        host, _, port = target.rpartition(":")
        addresses, unknown = looked_up(host, until)
        seconds, silent = (
            connected(host, int(port), until) if addresses else (0.0, "its name does not resolve")
        )
        print(
            json.dumps(
                {
                    "target": target,
                    "addresses": addresses,
                    "unknown": unknown,
                    "seconds": seconds,
                    "silent": silent,
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
