"""host.yum: packages of older Red Hat and Amazon Linux releases."""

from __future__ import annotations

from playrunner.modules.host._rpm import RpmPackages


class Yum(RpmPackages):
    """Packages of Red Hat 7, Amazon Linux 2 and their like."""

    manager = "yum"
