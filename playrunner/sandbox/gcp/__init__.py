"""A pretend Google Cloud on a loopback port: REST as gcloud, Google's Python clients and our own
use it. Standard library only.

- `process.py`: the background process: start, status, stop; its service account and token
- `server.py`: the program behind it
- `front.py`: the path of every request: parse, authenticate, inject faults, answer, record
- `messages.py`, `routes.py`: request, answer and error types; which function answers which path
- `gcp_state.py`: all resources of the project
- `operations.py`, `operation_lock.py`: long-running operations, one at a time for each cluster
- `catalogue.py`, `quotas.py`: zones, machine types and accelerators, and their quotas
- one file for each resource: `clusters.py`, `pools.py`, `nodes.py`, `disks.py`, `networking.py`,
  `buckets.py`, `repositories.py`, `services.py` (enabled APIs), `auth.py` (tokens)
- `control_pools.py`: `/_sandbox/pools`: the nodes of every pool and their number, for the
  autoscaler of the sandbox's cluster
"""
