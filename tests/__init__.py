"""Images are built for real: for this machine's platform, whichever it is.

Set here, since the product reads it when it is imported, and this file is imported before it.
"""

import os
import platform

_PLATFORMS = {"aarch64": "linux/arm64", "x86_64": "linux/amd64"}
os.environ.setdefault(
    "PLAYRUNNER_IMAGE_PLATFORM", _PLATFORMS.get(platform.machine(), "linux/amd64")
)
