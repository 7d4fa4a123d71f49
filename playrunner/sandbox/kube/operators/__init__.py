"""The batch operators of the sandbox's cluster: Kubeflow's training operator, the ElasticJob
controller, Volcano, JobSet's controller, Kubeflow Trainer, and Kueue.

Each has two halves: a pure one, from a job and what is there to what should be there
(`replicated/`, `kubeflow.py`, `elastic.py`, `volcano/`), and a thin controller that looks, asks the
pure half, and does what it says. `installed.py` is the table of which Deployment stands for which
operator: an operator acts only while that Deployment has a ready pod, so deleting the pod is
restarting the operator, and what it kept in memory is lost with it.

Reading order: `installed`, `objects`, then `replicated/` (jobs of numbered replicas, as two of the
operators share them) with its two dialects `kubeflow` and `elastic`, then `volcano/` and
`jobset/` with maps of their own; `trainer/` makes JobSets, `kueue/` holds jobs back. `admission`
serves the operators' webhooks.
"""
