"""A stage to rehearse runbooks on: no account, no root, nothing outside this machine.

`python -m playrunner.sandbox up [--aws] [--gcp] [--kube] [--registry] | status | env | down`. The
product never imports this package: it is reached over SSH and HTTP, like the real thing.

- `nodes.py`: SSH nodes, real `sshd` processes on loopback addresses
- `sshd.py`: the program behind each of them
- `aws/`, `gcp/`: a pretend AWS and a pretend Google Cloud, each on a loopback port
- `control.py`, `settings.py`, `timeline.py`, `calls.py`, `sockets.py`, `background.py`: what the
  pretend clouds share
- `registry.py`: a real registry for images, with a login of its own
- `faults.py`: what to break, and when
- `state.py`: the folder, lock, record and processes of what is up
"""
