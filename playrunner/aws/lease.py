"""Lease: one run at a time changes a stack, whichever machines the runs are on.

It is a parameter of Systems Manager in the stack's account and region. Its holder renews it and
deletes it at the end; one that is not renewed is taken over. Reading needs no lease.
"""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace

from playrunner.aws.client import Aws
from playrunner.aws.lease_entry import Entry, as_value, entry_from, holder_at, new_entry
from playrunner.aws.session import Account
from playrunner.cloud.resource import Refused, Unanswered
from playrunner.errors import HostUnreachable, LeaseNotHeld, PlayrunnerError
from playrunner.project import program

LEASE_SECONDS = 180.0  # without a renewal; then it may be taken over
RENEW_SECONDS = 45.0
LOOK_SECONDS = 3.0  # between looks at a lease that another run holds
REMIND_SECONDS = 30.0  # between lines that say what is waited for
_NOT_WRITTEN = ("ParameterAlreadyExists", "TooManyUpdates")
_MISSING = ("ParameterNotFound", "ParameterVersionNotFound")


def parameter_name(cluster: str) -> str:
    # A stack that expired may be named in a tag alone, in any letters
    return f"/playrunner/{re.sub('[^A-Za-z0-9_.-]', '-', cluster)}/lease"


class Lease:
    """The lease of one stack, from when it is taken until it is released."""

    def __init__(self, account: Account, cluster: str, command: str) -> None:
        # Its calls are no changes of the stack: neither guarded by the lease nor in the ledger
        self._aws = Aws(account, "lease", guarded=False)
        self._name, self._cluster = parameter_name(cluster), cluster
        self._entry = new_entry(command)
        self._renewed = 0.0  # when it was last known to be ours, on the clock of the wall
        self._inherited = False  # held by the run that started this process
        self._lost = ""  # why it is ours no more
        self._renewing = threading.Lock()
        self._released = threading.Event()

    def wait_until_free(
        self, sleep: Callable[[float], None], note: Callable[[str], None], wait: bool = True
    ) -> None:
        """Before the first look at a stack: until no other run changes it."""
        reminded: float | None = None
        while (entry := held_by(self._aws, self._name)) and self._in_use(entry):
            reminded = self._waiting(entry, note, wait, reminded)
            sleep(LOOK_SECONDS)

    def acquire(
        self, sleep: Callable[[float], None], note: Callable[[str], None], wait: bool = True
    ) -> None:
        """Take the lease, once no other run holds it; or refuse, when that is not to be waited
        for."""
        if not self._write(None):
            self._take_over(sleep, note, wait)
        if not self._inherited:
            threading.Thread(target=self._keep, name="lease", daemon=True).start()

    def confirm(self) -> None:
        """Before each change: it is still ours. A machine that was asleep may have lost it."""
        if not self._inherited and time.time() - self._renewed > LEASE_SECONDS - RENEW_SECONDS:
            self._renew()
        if self._lost:
            raise LeaseNotHeld(f"{self._lost}; nothing more is changed")

    def release(self, note: Callable[[str], None] = lambda text: None) -> None:
        """Let others in; what cannot be given back now expires by itself."""
        self._released.set()
        if self._inherited:
            return
        with self._renewing:
            lost, self._lost = self._lost, f'the lease of "{self._cluster}" was released'
            try:
                # What may have been taken over is looked at before it is deleted
                fresh = time.time() - self._renewed < LEASE_SECONDS - RENEW_SECONDS
                if not lost and (fresh or self._is_ours()):
                    self._delete()
            except PlayrunnerError as error:
                note(
                    f'the lease of "{self._cluster}" was not given back, and ends by itself'
                    f" {LEASE_SECONDS:.0f}s after its last renewal: {error}"
                )

    def _take_over(
        self, sleep: Callable[[float], None], note: Callable[[str], None], wait: bool
    ) -> None:
        reminded: float | None = None
        while True:
            entry = held_by(self._aws, self._name)
            if entry is None:
                if self._write(None):
                    return
            elif entry.holder == self._entry.holder or entry.started_us:
                self._inherited = entry.holder != self._entry.holder
                self._entry = entry
                self._renewed = time.time() - entry.age
                return
            elif self._in_use(entry):
                reminded = self._waiting(entry, note, wait, reminded)
            elif self._write(entry):
                note(f'took over the lease of "{self._cluster}" from a run that ended: {entry}')
                return
            sleep(LOOK_SECONDS if reminded is not None else 0.2)

    def _in_use(self, entry: Entry) -> bool:
        """Whether another run holds it that may still be at work."""
        if entry.holder == self._entry.holder or entry.started_us or entry.is_dead:
            return False
        return entry.age <= LEASE_SECONDS

    def _waiting(
        self, entry: Entry, note: Callable[[str], None], wait: bool, reminded: float | None
    ) -> float:
        """Say now and then what is waited for; when that was said last."""
        if not wait:
            raise LeaseNotHeld(self._held(entry))
        if reminded is None or time.monotonic() - reminded > REMIND_SECONDS:
            reminded = time.monotonic()
            note(f"waiting: {self._held(entry)} (Ctrl-C to give up)")
        return reminded

    def _held(self, entry: Entry) -> str:
        return (
            f'another run works on "{self._cluster}" in {self._aws.region}: {entry}; its lease'
            f" ends {LEASE_SECONDS:.0f}s after that run does, or with: {program()} unlock"
        )

    def _write(self, seen: Entry | None) -> bool:
        """Write an entry after the one that was seen, or the first one; False when it does not
        count, or it is unknown whether it was written."""
        entry = replace(
            self._entry, after=seen.write if seen else "", write=uuid.uuid4().hex, age=0.0
        )
        try:
            answer = self._aws.call(
                "ssm",
                "put_parameter",
                Name=self._name,
                Value=json.dumps(as_value(entry)),
                Type="String",
                Overwrite=seen is not None,
            )
        except Unanswered:
            return False
        except Refused as refusal:
            if refusal.code not in _NOT_WRITTEN:
                raise LeaseNotHeld(str(refusal)) from None
            return False
        version = int(answer["Version"])
        if version != (seen.version + 1 if seen else 1):
            return False
        # Another lease may have come to the same number since
        before = _read(self._aws, f"{self._name}:{version - 1}") if seen else None
        if seen and (before is None or before.write != seen.write):
            return False
        self._entry, self._renewed = replace(entry, version=version), time.time()
        return True

    def _keep(self) -> None:
        while not self._released.wait(RENEW_SECONDS):
            try:
                self._renew()
            except PlayrunnerError:
                continue  # the next change tries again, or finds it lost

    def _renew(self) -> None:
        with self._renewing:
            if self._lost or self._released.is_set():
                return
            mine = self._entry.version
            if self._write(self._entry) or (self._is_ours() and self._entry.version > mine):
                return
            entry = held_by(self._aws, self._name)
            if entry is not None and entry.holder == self._entry.holder:
                self._delete()  # it was broken, and this renewal made it anew
            by = f": {entry}" if entry and entry.holder != self._entry.holder else ""
            self._lost = f'the lease of "{self._cluster}" was taken from this run{by}'

    def _is_ours(self) -> bool:
        entry = held_by(self._aws, self._name)
        if entry is None or entry.holder != self._entry.holder:
            return False
        if entry.version > self._entry.version:
            self._entry, self._renewed = entry, time.time() - entry.age
        return entry.version >= self._entry.version

    def _delete(self) -> None:
        delete(self._aws, self._name)


def held_by(aws: Aws, name: str) -> Entry | None:
    """The entry by which a lease is held now; None when none is."""
    latest = _read(aws, name)
    return holder_at(latest, lambda version: _read(aws, f"{name}:{version}")) if latest else None


def delete(aws: Aws, name: str) -> None:
    """Whoever holds it finds that out with the next renewal."""
    for _ in range(3):
        try:
            aws.call("ssm", "delete_parameter", Name=name)
            return
        except Unanswered:
            continue
        except Refused as refusal:
            if refusal.code in _MISSING:
                return
            raise LeaseNotHeld(str(refusal)) from None


def _read(aws: Aws, name: str) -> Entry | None:
    if name.endswith(":0"):
        return None
    aws.refresh()
    try:
        answer = aws.read("ssm", "get_parameter", missing=_MISSING, Name=name)
    except Unanswered as error:
        raise HostUnreachable(str(error)) from None
    except Refused as refusal:
        raise LeaseNotHeld(str(refusal)) from None
    if answer is None:
        return None
    entry = entry_from(answer)
    if entry is None:
        raise LeaseNotHeld(
            f"the parameter {name} in {aws.region} is no lease of this program; delete it, or"
            " choose another cluster_name"
        )
    return entry
