#!/usr/bin/env python3
"""Stands in for a host's Python, speaks the agent's protocol, and lies in the way that its own name
says."""

import json
import os
import re
import signal
import sys
import time

MIB = 1 << 20
GOOD = {"changed": False}


def requests():
    """What the controller asks for, one after another; the code it sends is thrown away."""
    source = sys.stdin.buffer
    source.read(int(re.search(r"read\((\d+)\)", sys.argv[-1])[1]))
    while line := source.readline():
        frame = json.loads(line)
        source.read(frame.get("body", 0))
        if frame["op"] == "run":
            yield frame


def write(data):
    while data:
        data = data[os.write(1, data) :]


def frame(**words):
    write(json.dumps(words).encode() + b"\n")


def result(request, **values):
    frame(id=request["id"], result=values)


def honest(request):
    result(request, **GOOD)


def sent(text):
    """A reply that is the same for every request."""
    return lambda request: write(text.replace(b"ID", str(request["id"]).encode()) + b"\n")


def values(**words):
    return lambda request: result(request, **words)


def forever(text):
    def flood(request):
        data = text.replace(b"ID", str(request["id"]).encode())
        while True:
            write(data)

    return flood


def need(name):
    return lambda request: frame(id=request["id"], need=name(request))


def at_the_file(do):
    """Honest until a step comes that offers a file."""
    return lambda request: do(request) if "sha1" in str(request["args"]) else honest(request)


def at(module, do):
    """Honest until a certain module is asked for; a file to fetch is there."""
    there = values(stat={"exists": True, "checksum": "0" * 40})
    return lambda request: (
        do if request["class"] == module else there if request["class"] == "Stat" else honest
    )(request)


def need_twice(request):
    for _ in range(2):
        frame(id=request["id"], need=request["args"]["src"]["sha1"])


def twice(request):
    honest(request)
    honest(request)


def silence(request):
    time.sleep(60)


def goes_on(request):
    while True:
        frame(id=request["id"], alive=True)
        time.sleep(1)


def ends(request):
    os._exit(0)


LIES = {
    "null": sent(b"null"),
    "number": sent(b"5"),
    "list": sent(b"[]"),
    "text": sent(b'"ok"'),
    "not-json": sent(b"Segmentation fault"),
    "empty-line": sent(b""),
    "binary": sent(bytes(range(256)).replace(b"\n", b"")),
    "invalid-utf8": sent(b'{"id": ID, "result": {"msg": "\xff\xfe"}}'),
    "utf16": sent('{"id": 1, "result": {}}'.encode("utf-16")),
    "empty-mapping": sent(b"{}"),
    "no-id": sent(b'{"result": {"changed": false}}'),
    "id-is-true": sent(b'{"id": true, "result": {"changed": false}}'),
    "id-is-text": sent(b'{"id": "ID", "result": {"changed": false}}'),
    "unknown-id": sent(b'{"id": 4711, "result": {"changed": false}}'),
    "later-step-first": lambda request: frame(id=request["id"] + 1, result=GOOD),
    "answers-twice": twice,
    "no-kind": sent(b'{"id": ID}'),
    "two-kinds": sent(b'{"id": ID, "passed": true, "result": {}}'),
    "result-is-null": sent(b'{"id": ID, "result": null}'),
    "result-is-list": sent(b'{"id": ID, "result": [1, 2]}'),
    "passed-though-nothing-failed": sent(b'{"id": ID, "passed": true}'),
    "passed-is-text": sent(b'{"id": ID, "passed": "x"}'),
    "warnings-is-number": values(changed=True, warnings=5),
    "warnings-of-numbers": values(changed=True, warnings=[1, None]),
    "changed-is-text": values(changed="x"),
    "failed-is-list": values(failed=[1]),
    "msg-is-list": values(failed=True, msg=["a", {"b": 1}]),
    "exception-is-number": values(failed=True, exception=7),
    "facts-is-list": values(ansible_facts=[1, 2]),
    "diff-is-text": values(changed=True, diff="x"),
    "diff-side-is-number": values(changed=True, diff={"before": 5, "after": []}),
    "job-is-mapping": values(ansible_job_id={"a": 1}),
    "seconds-is-text": sent(b'{"id": ID, "result": {}, "seconds": "x"}'),
    "seconds-below-zero": sent(b'{"id": ID, "result": {}, "seconds": -1}'),
    "nan": sent(b'{"id": ID, "result": {"x": NaN}}'),
    "infinite": sent(b'{"id": ID, "result": {"x": 1e999}}'),
    "endless-number": sent(b'{"id": ID, "result": {"x": ' + b"9" * 100_000 + b"}}"),
    "body-below-zero": sent(b'{"id": ID, "result": {}, "body": -1}'),
    "body-is-true": sent(b'{"id": ID, "result": {}, "body": true}'),
    "body-is-huge": sent(b'{"id": ID, "result": {}, "body": 1000000000000}'),
    "body-of-an-output": sent(b'{"id": ID, "out": "x", "body": 10}'),
    "parts-is-number": sent(b'{"id": ID, "result": {}, "parts": 5}'),
    "parts-past-the-body": sent(b'{"id": ID, "result": {}, "parts": [["stdout", 9, false]]}'),
    "parts-not-utf8": sent(
        b'{"id": ID, "result": {}, "parts": [["stdout", 1, true]], "body": 1}\n\xff'
    ),
    "parts-over-a-flag": sent(
        b'{"id": ID, "result": {}, "parts": [["changed", 1, true]], "body": 1}\nx'
    ),
    "deep": sent(b'{"id": ID, "result": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}"),
    "very-deep": sent(b"[" * 200_000),
    "deep-in-a-value": sent(b'{"id": ID, "result": {"x": ' + b"[" * 150 + b"]" * 150 + b"}}"),
    "many-values": sent(b'{"id": ID, "result": {"x": [' + b"[]," * 1_500_000 + b"0]}}"),
    "endless-line": forever(b"x" * MIB),
    "endless-output": forever(b'{"id": ID, "out": "%s"}\n' % (b"flood\\n" * 1000)),
    "endless-signs-of-life": forever(b'{"id": ID, "alive": true}\n'),
    "output-is-number": sent(b'{"id": ID, "out": 5}'),
    "needs-a-file-never-offered": need(lambda request: "0" * 40),
    "needs-a-path": need(lambda request: "/etc/passwd"),
    "needs-a-list": need(lambda request: [1]),
    "needs-a-file-twice": at_the_file(need_twice),
    "ends-at-once": ends,
    "surrogates": values(failed=True, msg="\ud800 \udfff", stdout="\udc80"),
    "long-message": values(failed=True, msg="m" * MIB, warnings=["w" * MIB] * 3),
    "long-exception": values(failed=True, msg="no", exception="e" * (4 * MIB)),
    "stat-is-number": at("Stat", values(stat=5)),
    "no-stat": at("Stat", values(changed=False)),
    "no-content": at("Slurp", values(changed=False)),
    "results-of-a-loop": values(failed=True, msg="no", results=[1, "x", None]),
    "includes": values(failed=True, include={"file": "/etc/passwd"}),
    "registers-nothing": sent(b'{"id": ID, "result": {"failed": true}}'),
    "goes-on-after-its-timeout": goes_on,
    "silence": silence,
    "half-a-line": lambda request: (write(b'{"id": '), silence(request)),
    "half-a-body": lambda request: (
        write(b'{"id": 1, "result": {}, "body": 100}\nabc'),
        silence(request),
    ),
}


def main():
    signal.alarm(60)  # in case that nothing else ends it
    lie = LIES[os.path.basename(sys.argv[0])]
    for request in requests():
        lie(request)


if __name__ == "__main__":
    main()
