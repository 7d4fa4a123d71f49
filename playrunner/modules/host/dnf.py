"""host.dnf: packages of Fedora, Red Hat and Amazon Linux."""

from __future__ import annotations

from playrunner.modules.host._rpm import RpmPackages


class Dnf(RpmPackages):
    """Packages of Fedora, Red Hat, Amazon Linux and their children."""
