"""Raises the open-file limit for the connections of all hosts, or lowers the number of hosts at a
time."""

from __future__ import annotations

import resource

from playrunner.errors import BadInput

PROGRAM_FILES = 32  # streams, the record, locks, clients of clouds
# Of a host that is connected: two pipes and a file for a local one, a socket or two for SSH
KEPT_FILES = 4
STARTING_FILES = 8  # of a host that is being connected: both ends of each pipe, keys, an ssh agent


def make_room(hosts: int, forks: int) -> int:
    """How many hosts may be worked on at once, at most `forks`; raises the soft limit as needed.

    Unless `all_fit` afterwards, connections must also be closed as soon as a host is done.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = files_for(hosts, forks)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return forks
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    except (OSError, ValueError):  # a sandbox may forbid it
        allowed = soft
    if allowed >= needed:
        return forks
    fitting = (allowed - PROGRAM_FILES) // (KEPT_FILES + STARTING_FILES)
    if fitting < 1:
        raise BadInput(
            f"only {allowed} files may be open here, too few to reach a host; raise the limit with"
            f' "ulimit -n {needed}"'
        )
    return min(fitting, forks)


def all_fit(hosts: int, forks: int) -> bool:
    """Whether the connections of all hosts may stay open until the end of the run."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return soft == resource.RLIM_INFINITY or soft >= files_for(hosts, forks)


def files_for(hosts: int, forks: int) -> int:
    """How many files may be open at once in a run."""
    return PROGRAM_FILES + KEPT_FILES * hosts + STARTING_FILES * min(hosts, forks)
