"""Where compiled kernels are kept: in the user's own cache folder, so that the next start is warm.

The compiler's own choice is a folder of /tmp, which any user of the machine can make first and fill
with code of theirs, and which a reboot empties.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

# What each compiler calls its folder; a value that is there already is the user's own
FOLDERS = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}


def keep_compiled_kernels(environment: MutableMapping[str, str]) -> None:
    """Name the folders to the compilers, which read them when torch is imported; where there is no
    home to write to, their own choice stays."""
    root = _root(environment)
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return
    if not os.access(root, os.W_OK | os.X_OK):
        return
    for variable, name in FOLDERS.items():
        environment.setdefault(variable, str(root / name))


def _root(environment: MutableMapping[str, str]) -> Path:
    caches = environment.get("XDG_CACHE_HOME", "")
    base = Path(caches) if os.path.isabs(caches) else Path(os.path.expanduser("~")) / ".cache"
    return base / "playrunner" / "compiled"
