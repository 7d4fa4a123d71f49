"""Why a run does not start, hangs, is slow or failed."""
