"""A pretend AWS on a loopback port: moto's backends, filled in where they are thinner than the real
thing.

- `process.py`: the background process: start, status, stop
- `server.py`: the program behind it
- `front.py`: what every request passes: recognised, recorded, perhaps struck by a fault, answered
- `control.py`: `/_sandbox/...`: what every pretend cloud has
  (`playrunner/sandbox/http/control.py`), and prices
- `wire.py`: requests read and answers written in the protocol of each service, by its own model
- `world.py`: what there is beside moto's state
- `services.py`: which call is answered by whom
- `network.py`, `machines.py`, `tokens.py`: what several of them lean on
- one file per thing: `eks_*.py`, `fsx.py`, `efs.py`, `ec2_*.py`, `load_balancers.py`, `tagging.py`,
  `quotas.py`, `images.py`, `pricing.py` over `prices.py`
"""
