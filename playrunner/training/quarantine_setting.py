"""train_quarantine: what happens to a node that is proved to be bad, and for how long."""

from __future__ import annotations

from typing import Any

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.ssh.quarantine import DEFAULT_TIME, seconds_of

SUGGEST, TAINT, CORDON = MODES = ("suggest", "taint", "cordon")


@frozen
class QuarantineSetting:
    """On a cluster, whose nodes others use too, a node is named and left alone unless the inventory
    says otherwise. Hosts of an inventory are skipped by this machine alone, in every mode."""

    mode: str = SUGGEST
    time: str = DEFAULT_TIME

    @property
    def seconds(self) -> float:
        return seconds_of(self.time)


def read_setting(value: Any) -> QuarantineSetting:
    """`suggest`, `taint` or `cordon`, a duration as 24h, or both: `taint 6h`."""
    mode, time = SUGGEST, DEFAULT_TIME
    for word in str(value or "").split():
        if word in MODES:
            mode = word
        else:
            try:
                seconds_of(word)
            except BadInput:
                raise BadInput(
                    f'train_quarantine "{value}": it is {", ".join(MODES)}, a duration such as'
                    ' 24h, or both, as "taint 6h"'
                ) from None
            time = word
    return QuarantineSetting(mode, time)
