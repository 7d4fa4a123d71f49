"""A small Kubernetes API on loopback, to rehearse on: the objects, rules and wire of the real one.

Reading order: `store` (what is there, and its history), `kinds` (what can be there), `api` (one
request, one answer), `writing` (what every write goes through), `apply` and `ownership`
(server-side apply), `housekeeping` (what follows from a write), `server` (the wire). `controllers/`
makes it move, beside this API or a real one; whoever runs pods implements `runtime.PodRuntime` and
starts a `kubelet.Kubelet`.
"""
