"""What host modules read and write: sums of contents."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from playrunner.modules.host._content import TEXT_LIMIT, md5_of
from playrunner.project import CODE


@pytest.mark.parametrize("size", [0, 1, TEXT_LIMIT, TEXT_LIMIT + 1])
def test_an_md5_sum_is_that_of_hashlib(size: int) -> None:
    data = b"x" * size
    assert md5_of(data) == hashlib.md5(data).hexdigest()


def test_an_md5_sum_of_a_short_text_loads_no_openssl() -> None:
    pytest.importorskip("_md5")
    program = (
        f"import sys; sys.path.insert(0, {str(CODE)!r});"
        "from playrunner.modules.host._content import md5_of; md5_of(b'x');"
        "print('_hashlib' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-IS", "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "False\n"
