"""Leftovers: what is left of a stack in an AWS account or a Google Cloud project, and its removal.

find(client, "demo")           everything of one stack; None: of every stack that left a mark
remove(client, found, ...)      takes it away in order, returns what is still there and why
sweep(client, "demo", ...)      both, until another search finds nothing new
expired(found, now)          what is past its time

leftover.py  Leftover and Thing           stacks.py    whose a thing is, and how that is known
kind.py      what is known of a kind      kinds.py     all kinds; one file per service holds them
anywhere.py  either cloud's search and kinds; gcp/ holds Google Cloud's
table.py     how leftovers are shown, with what they cost (playrunner/cloud/prices.py)
"""

from __future__ import annotations

from playrunner.leftovers.expiry import expired
from playrunner.leftovers.leftover import Leftover
from playrunner.leftovers.per_cloud import find
from playrunner.leftovers.remove import remove
from playrunner.leftovers.sweep import sweep
from playrunner.leftovers.table import as_data, as_table

__all__ = ["Leftover", "as_data", "as_table", "expired", "find", "remove", "sweep"]
