# Thin on purpose: each target is a few lines, and works on a fresh machine.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
READY := $(VENV)/.ready

TRAINS := $(VENV)/.trains

.PHONY: quickstart test test-differential test-trainer lint bench bench-trainer packages clean

quickstart: $(READY) packages  ## set up, and run the first playbook on two SSH nodes of this machine
	$(RUN) invoke sandbox.up --nodes 2
	$(RUN) invoke play playbooks/hello-nodes.yaml

test: $(READY) packages  ## everything that is quick
	$(RUN) pytest -n 2 --ignore tests/trainer

test-trainer: $(TRAINS)  ## the trainer, with real processes that train; takes some minutes
	OMP_NUM_THREADS=1 $(RUN) pytest tests/trainer --confcutdir tests/trainer

test-differential: $(READY) packages  ## the same playbooks by ansible-core, side by side instead of recorded
	PLAYRUNNER_DIFFERENTIAL=live $(RUN) pytest tests/differential -n 2

lint: $(READY)
	$(RUN) ruff check .
	$(RUN) mypy
	$(VENV)/bin/vermin -q --no-tips --eval-annotations -t=3.9- --violations $(shell ls playrunner/agent.py playrunner/bring.py playrunner/host_context.py playrunner/module.py playrunner/state.py playrunner/modules/host/*.py)

bench: $(READY) packages  ## against the tools people use today; takes about a quarter of an hour
	$(RUN) benchmarks.runner

bench-trainer: $(TRAINS)  ## the trainer against a hand-written loop, on this machine's CPU
	OMP_NUM_THREADS=1 $(RUN) benchmarks.trainer_cpu

$(TRAINS): $(READY)
	$(RUN) pip install -q -e ".[train,train-test]"
	touch $(TRAINS)

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install -q --upgrade pip
	$(RUN) pip install -q -e ".[dev]"
	$(RUN) compileall -q playrunner sandbox roles tasks.py
	touch $(READY)

packages:  ## what tests and the sandbox need from Debian; only root can install it
	@command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openssh-server sudo git; }

clean:
	-$(RUN) invoke sandbox.down
	rm -rf $(VENV) .bench build *.egg-info
