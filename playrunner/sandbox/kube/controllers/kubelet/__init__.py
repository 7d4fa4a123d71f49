"""Pods as processes of this machine: what a kubelet and its container runtime do, without
containers.

`kubelet_controller` starts a `pod_worker` for each pod that has a node; a worker prepares the pod's
folder (`volumes`, `environment`), runs its containers one after another or together (`container`,
inside a `mount_namespace` where the paths and names that the pod expects exist), looks after them
(`probes`, `status`) and ends them. `hosts` gives pods the names of the cluster, `runtime` answers
the API's questions about logs and commands, `endpoint` is where it asks. `images` says which
program stands for which image."""
