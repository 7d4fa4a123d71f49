"""A pretend Google Cloud on a loopback port: REST as gcloud, Google's Python clients and our own
read it. Standard library only.

- `process.py`: the background process: start, status, stop; the service account and token it is
  entered with
- `server.py`: the program behind it
- `front.py`: what every request passes: recognised, let in, perhaps struck by a fault, answered,
  recorded
- `messages.py`, `routes.py`: a request, an answer, a refusal; which path is answered by whom
- `world.py`, `operations.py`, `underway.py`: what there is, what is still going on, and one thing
  at a time on a cluster
- `catalogue.py`, `quotas.py`: zones, machine types and accelerators, and how much of them may be
  had
- one file per thing: `clusters.py`, `pools.py`, `nodes.py`, `disks.py`, `networking.py`,
  `buckets.py`, `repositories.py`, `services.py` (which APIs are enabled), `entrance.py` (tokens)
- `steering.py`: `/_sandbox/pools`: the nodes of every pool, and their number, for whoever plays the
  autoscaler
"""
