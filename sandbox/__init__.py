"""A stage to rehearse runbooks on: no account, no root, nothing outside this machine.

`python -m sandbox up [--aws] | status | env | down`. The product never imports this package:
it is reached over SSH and HTTP, like the real thing.

- `nodes.py`: SSH nodes, real `sshd` processes on loopback addresses
- `sshd.py`: the program behind each of them
- `aws/`: a pretend AWS on a loopback port
- `faults.py`: what to break, and when
- `state.py`: the folder, lock, record and processes of what is up
"""
