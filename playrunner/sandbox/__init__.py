"""A local environment to rehearse runbooks in: no account, no root, nothing outside this machine.

`python -m playrunner.sandbox up [--aws] [--gcp] [--kube] [--registry] | status | env | down`. The
product never imports this package: it is reached over SSH and HTTP, as real infrastructure is.

- `nodes.py`: SSH nodes, real `sshd` processes on loopback addresses
- `sshd.py`: the program behind each of them
- `aws/`, `gcp/`: a pretend AWS and a pretend Google Cloud, each on a loopback port
- `kube/`: a pretend Kubernetes cluster, or a real kube-apiserver with our controllers
- `http/`: what the servers share: control requests, call records, background processes
- `registry.py`: a real image registry with its own login
- `faults.py`, `settings.py`: injected faults, and the settings of a pretend cloud
- `state.py`: the folder, lock, record and processes of a running sandbox
"""
