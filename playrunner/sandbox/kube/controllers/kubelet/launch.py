"""Started as a script for each container: makes the paths and names that it expects exist, then
becomes its program.

`launch.py FILE` reads a JSON object: `root` (an empty folder), `binds` ([source, path, read only]),
`etc` (name in /etc: the file that stands there), `hostname`, `folder`, `command`. In a mount
namespace of its own the machine's folders appear below a new root, and the volumes at their paths;
nothing of it is seen outside, and all of it goes with the process. Standard library only.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

BIND, REC, PRIVATE, REMOUNT, READ_ONLY = 4096, 16384, 1 << 18, 32, 1
NEW_MOUNTS, NEW_NAMES, NEW_USER = 0x00020000, 0x04000000, 0x10000000
NOT_FOUND, NOT_STARTED = 127, 128
# The number of a pipe whose reader waits for the program to start
WAITING = "PLAYRUNNER_SANDBOX_WAITING"

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    with open(sys.argv[1]) as file:
        spec = json.load(file)
    os.unlink(sys.argv[1])
    waiting = os.environ.pop(WAITING, "")
    if waiting:
        os.set_inheritable(
            int(waiting), False
        )  # closed when the program starts, which the reader waits for
    enter_namespaces()
    root = spec["root"]
    make_root(root)
    opened: set[str] = set()
    open_up("/etc", root, opened, without=spec["etc"])
    for name, source in spec["etc"].items():
        os.symlink(source, f"{root}/etc/{name}")
    for source, path, read_only in sorted(spec["binds"], key=lambda bind: bind[1].count("/")):
        place(source, path, root, opened, read_only)
    set_name(spec["hostname"])
    os.chroot(root)
    if not os.path.isdir(spec["folder"]):
        os.makedirs(spec["folder"])
    os.chdir(spec["folder"])
    become(spec["command"])


def enter_namespaces() -> None:
    """As root, mounts and the host's name of our own; as anybody else, also a user namespace in
    which that is allowed."""
    user, group = os.getuid(), os.getgid()
    if user == 0:
        _checked(_libc.unshare(NEW_MOUNTS | NEW_NAMES), "unshare")
    else:
        _checked(_libc.unshare(NEW_MOUNTS | NEW_NAMES | NEW_USER), "unshare")
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    mount("none", "/", "", REC | PRIVATE)


def make_root(root: str) -> None:
    mount("tmpfs", root, "tmpfs", 0)
    for name in os.listdir("/"):
        show(f"/{name}", f"{root}/{name}")


def show(source: str, target: str) -> None:
    """The same thing under another path."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    try:
        if os.path.isdir(source):
            os.mkdir(target)
        else:
            open(target, "w").close()
        mount(source, target, "", BIND | REC)
    except OSError:
        pass  # gone meanwhile, or not ours to see


def open_up(path: str, root: str, opened: set[str], without: object = ()) -> None:
    """Make a folder of the machine one in which new names can be made, everything in it still
    there."""
    names = [name for name in os.listdir(root + path) if name not in without]  # type: ignore[operator]
    mount("tmpfs", root + path, "tmpfs", 0)
    for name in names:
        show(f"{path}/{name}", f"{root}{path}/{name}")
    opened.add(path)


def place(source: str, path: str, root: str, opened: set[str], read_only: bool) -> None:
    target = root + path
    if not os.path.exists(target):
        above = os.path.dirname(path)
        while not os.path.isdir(root + above):
            above = os.path.dirname(above)
        if above != "/" and not any(above == one or above.startswith(f"{one}/") for one in opened):
            open_up(above, root, opened)
        if os.path.isdir(source):
            os.makedirs(target)
            opened.add(path)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            open(target, "w").close()
    mount(source, target, "", BIND | REC)
    if read_only:
        mount("none", target, "", BIND | REMOUNT | READ_ONLY)


def set_name(name: str) -> None:
    data = name.encode()[:64]
    _checked(_libc.sethostname(data, len(data)), "sethostname")


def mount(source: str, target: str, kind: str, flags: int) -> None:
    _checked(
        _libc.mount(source.encode(), target.encode(), kind.encode() or None, flags, None),
        f"mount {target}",
    )


def become(command: list[str]) -> None:
    try:
        os.execvp(command[0], command)
    except FileNotFoundError:
        print(
            f'exec: "{command[0]}": executable file not found in $PATH', file=sys.stderr, flush=True
        )
        os._exit(NOT_FOUND)
    except OSError as error:
        print(f'exec: "{command[0]}": {error.strerror}', file=sys.stderr, flush=True)
        os._exit(NOT_STARTED)


def _checked(answer: int, what: str) -> None:
    if answer:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    main()
