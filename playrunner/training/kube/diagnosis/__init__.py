"""Why a run on a cluster waits, crashes, hangs or is slow: facts from the cluster, turned into
causes by pure functions."""
