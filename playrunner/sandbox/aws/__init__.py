"""A pretend AWS on a loopback port: moto's backends, completed where they do less than the real
services.

- `api/process.py`: the background process: start, status, stop
- `api/server.py`: the program behind it
- `api/front.py`: the path of every request: parse, authenticate, inject faults, answer, record
- `api/control.py`: `/_sandbox/...`: what every pretend cloud has
  (`playrunner/sandbox/http/control.py`), and prices
- `api/wire.py`: requests parsed and answers serialized in the protocol of each service
- `api/aws_state.py`: what moto does not keep
- `api/services.py`: which function answers which call
- `ec2/`, `eks/`, `other/`: one file for each resource
"""
