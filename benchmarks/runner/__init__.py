"""One 20-step playbook, run by us and by the tools a user would pick instead, on the same loopback
SSH hosts.

`python -m benchmarks.runner --help` shows the options. How to read the numbers:
benchmarks/README.md.

- `play.yaml`, `templates/`: the playbook, for Ansible, Mitogen and us
- `pyinfra_peer/`, `floor.py`: the same twenty steps for pyinfra, and by hand
- `tools.py`: how each tool is installed and called; `stage.py`: the hosts; `measure.py`: one
  process, measured
- `rounds.py`: first run, second run, check, each verified; `goals.py`, `tables.py`: what is printed
- `scaling.py`: our own growth with hosts and steps; the cost of `invoke --list`
"""
