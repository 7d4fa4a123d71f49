"""The ways to start a run's processes on a host, one file each."""

from __future__ import annotations

from playrunner.training.launchers import SSH_LAUNCHERS, Registry
from playrunner.training.ssh.launchers.launcher import SshLauncher

LAUNCHERS: Registry[SshLauncher] = Registry(SSH_LAUNCHERS)
