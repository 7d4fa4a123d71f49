"""host.dnf5: packages of Fedora's newer releases."""

from __future__ import annotations

from playrunner.modules.host._rpm import RpmPackages


class Dnf5(RpmPackages):
    """Packages of Fedora, Red Hat and Amazon Linux, through dnf5."""

    manager = "dnf5"
