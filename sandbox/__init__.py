"""A stage to rehearse runbooks on: no account, no root, nothing outside this machine.

`python -m sandbox up | status | down`. The product never imports this package:
it is reached over SSH, like the real thing.

- `nodes.py`: SSH nodes, real `sshd` processes on loopback addresses
- `sshd.py`: the program behind each of them
- `state.py`: the folder, lock, record and processes of what is up
"""
