"""Starts the hosts' Python programs by forking: one started interpreter instead of one per host.

`python3 -IS fork_server.py SOCKET_FD`. A request is one message on the socket: JSON with `id`,
`code`, `before` (printed first), `home`, and three file descriptors. The answer, when the program
has ended, is a line with `id` and `status`. What is imported here is what `python3 -IS` has
imported when an agent starts, so that a child is as fresh as an interpreter of its own.
"""

import array
import json
import os
import select
import signal
import socket
import sys

REQUEST_BYTES = 1 << 20


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    reader, writer = os.pipe()
    for fd in (reader, writer):
        os.set_blocking(fd, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    running = {}
    while True:
        ready, _, _ = select.select([channel, reader], [], [])
        if reader in ready:
            os.read(reader, 4096)
            report_ended(channel, running)
        if channel in ready:
            message, control, _, _ = channel.recvmsg(REQUEST_BYTES, socket.CMSG_SPACE(3 * 4))
            if not message:
                for pid in running:
                    os.kill(pid, signal.SIGKILL)
                return
            fds = array.array("i")
            fds.frombytes(control[0][2][: 3 * fds.itemsize])
            request = json.loads(message)
            pid = os.fork()
            if not pid:
                become(request, fds, channel)
            running[pid] = request["id"]
            for fd in fds:
                os.close(fd)


def report_ended(channel, running) -> None:
    while running:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        answer = {"id": running.pop(pid), "status": os.waitstatus_to_exitcode(status)}
        channel.send(json.dumps(answer).encode())


def become(request, fds, channel) -> None:
    """In the child: the streams, the folder and the program of one host."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    os.closerange(3, 64)  # the streams as they came, and what the server itself has open
    channel.detach()
    os.chdir(request["home"])
    os.environ["HOME"] = request["home"]
    sys.argv = ["-c"]
    sys.stdin = open(0)  # noqa: SIM115
    sys.stdout = open(1, "w")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1)  # noqa: SIM115
    os.write(1, request["before"].encode())
    status = 0
    try:
        exec(compile(request["code"], "<string>", "exec"), {"__name__": "__main__"})
        sys.stdout.flush()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # the fork must not go on in the server's own loop
        sys.excepthook(*sys.exc_info())
        status = 1
    os._exit(status)


main()
