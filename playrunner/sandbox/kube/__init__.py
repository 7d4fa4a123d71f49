"""A small Kubernetes API on loopback, to rehearse on: the objects, rules and wire formats of the
real one. The packages, each importing only those below it:

- `process/`: starts and stops the cluster (the pretend API, or a real kube-apiserver)
- `operators/`: Kubeflow's training operator, ElasticJob, Volcano
- `controllers/`: scheduler, kubelet, workloads, storage and nodes, beside this API or a real one
- `http/`: the API server: one request, one answer, watches, discovery, OpenAPI, tables
- `store/`: the objects and their history, and what every write goes through
- `wire/`: protobuf, SPDY, WebSockets, certificates, selectors
- `schema/`: kinds, field types, names and quantities

Reading order: `store/store.py`, `schema/kinds.py`, `http/api.py`, `store/write_path.py`,
`store/apply.py`, `store/builtin_controllers.py`, `http/server.py`.
"""
