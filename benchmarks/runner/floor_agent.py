"""The floor's half on the host: reads one JSON list of steps, brings each about, answers with one
JSON list.

It does what the playbook does and nothing more: no module system, no variables, no diffs, no
recovery. Its source is sent as it stands; what only some runs need is imported where it is needed,
since an import is felt at this scale.
"""

import json
import os
import sys

incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer


def main():
    request = json.loads(incoming.readline())
    known = facts()
    results = []
    for step in request["steps"]:
        changed = STEPS[step["do"]](step, request["check"], known)
        results.append({"name": step["name"], "changed": changed})
    answer({"facts": known, "results": results})


def facts():
    system, hostname, release, _, architecture = os.uname()
    with open("/proc/meminfo") as file:
        memory = int(file.readline().split()[1])
    with open("/etc/os-release") as file:
        distribution = dict(line.rstrip().split("=", 1) for line in file if "=" in line)
    return {
        "system": system,
        "hostname": hostname.split(".")[0],
        "kernel": release,
        "architecture": architecture,
        "memory_kib": memory,
        "processors": os.cpu_count(),
        "distribution": distribution,
        "environment": dict(os.environ),
    }


def directory(step, check, known):
    try:
        current_mode = os.stat(step["path"]).st_mode & 0o7777
    except FileNotFoundError:
        if not check:
            os.makedirs(step["path"], exist_ok=True)
            os.chmod(step["path"], step["mode"])
        return True
    return mode(step, check, known) if current_mode != step["mode"] else False


def mode(step, check, known):
    if os.stat(step["path"]).st_mode & 0o7777 == step["mode"]:
        return False
    if not check:
        os.chmod(step["path"], step["mode"])
    return True


def content(step, check, known):
    text = step["text"]
    for name in ("system", "architecture", "hostname"):
        text = text.replace("@" + name + "@", known[name])
    wanted = text.encode()
    return put(step["path"], step["mode"], check, lambda there: there == wanted, lambda: wanted)


def payload(step, check, known):
    def matches(there):
        import hashlib

        return len(there) == step["size"] and hashlib.sha1(there).hexdigest() == step["sha1"]

    def fetch():
        answer({"need": step["name"]})
        return incoming.read(step["size"])

    return put(step["path"], step["mode"], check, matches, fetch)


def put(path, mode, check, matches, fetch):
    try:
        with open(path, "rb") as file:
            same = matches(file.read())
            current_mode = os.fstat(file.fileno()).st_mode & 0o7777
    except FileNotFoundError:
        same, current_mode = False, 0o644
    if same and mode in (None, current_mode):
        return False
    if check:
        return True
    if same:
        os.chmod(path, mode)
    else:
        write(path, fetch(), current_mode if mode is None else mode)
    return True


def write(path, data, mode):
    draft = path + ".new"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        os.fchmod(file.fileno(), mode)
    os.rename(draft, path)


def line(step, check, known):
    with open(step["path"]) as file:
        before = file.read().splitlines()
        mode = os.fstat(file.fileno()).st_mode & 0o7777
    after = list(before)
    matching = [
        number
        for number, text in enumerate(before)
        if step["start"] and text.startswith(step["start"])
    ]
    if matching:
        after[matching[-1]] = step["line"]
    elif step["line"] not in before:
        after.append(step["line"])
    if after == before:
        return False
    if not check:
        write(step["path"], ("\n".join(after) + "\n").encode(), mode)
    return True


def command(step, check, known):
    if os.path.exists(os.path.join(step["folder"], step["creates"])):
        return False
    if not check:
        import subprocess

        subprocess.run(
            step["command"],
            cwd=step["folder"],
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    return True


def link(step, check, known):
    if os.path.islink(step["path"]) and os.readlink(step["path"]) == step["target"]:
        return False
    if not check:
        os.symlink(step["target"], step["path"])
    return True


def answer(message):
    outgoing.write(json.dumps(message).encode() + b"\n")
    outgoing.flush()


STEPS = {
    "directory": directory,
    "mode": mode,
    "content": content,
    "payload": payload,
    "line": line,
    "command": command,
    "link": link,
}
main()
