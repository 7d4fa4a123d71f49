"""Leftovers: what is left of a stack in an AWS account or a Google Cloud project, and its deletion.

find(client, "demo")         everything of one stack; None: of every stack that left a tag
remove(client, found, ...)   deletes it in order, returns what still exists and why
sweep(client, "demo", ...)   both, until another search finds nothing new
held(found, with_kept)       the same, with what a sweep leaves marked
expired(found, now)          what is past its time to live

leftover.py   Leftover and Thing
per_cloud.py  the search and the kinds that go with a client
table.py      how leftovers are shown, with what they cost (playrunner/cloud/prices.py)
aws/, gcp/    stacks.py (whose a resource is), kind.py, kinds.py, and the kinds by service
"""

from __future__ import annotations

from playrunner.leftovers.expiry import expired
from playrunner.leftovers.kept import held
from playrunner.leftovers.leftover import Leftover
from playrunner.leftovers.per_cloud import find
from playrunner.leftovers.remove import remove
from playrunner.leftovers.sweep import sweep
from playrunner.leftovers.table import as_data, as_table

__all__ = ["Leftover", "as_data", "as_table", "expired", "find", "held", "remove", "sweep"]
