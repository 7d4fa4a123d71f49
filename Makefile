# Thin on purpose: each target is a few lines, and works on a fresh machine.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
# What is installed in it: the runner, what its tests need, the trainer, what the trainer's tests need.
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
TRAINS := $(VENV)/.trains
TRAINER_READY := $(VENV)/.trainer-ready
AWS_CLI := .venv-aws/.ready

# What has a target of its own, and is left out of `make test`.
# Those that wait longest come first, so that no worker is left with them at the end.
CLOUD := tests/roles tests/leftovers tests/modules/aws tests/modules/gcp
IMAGES := tests/images tests/modules/image
CLUSTER := tests/kube $(wildcard tests/sandbox/kube/test_controllers*.py tests/sandbox/kube/test_kubelet*.py tests/sandbox/kube/test_operators*.py)
APART := tests/trainer tests/launch/end_to_end tests/page tests/fuzz tests/differential $(CLOUD) $(IMAGES) $(CLUSTER)
COVERED ?= $(addprefix --ignore ,$(APART))
FUZZ_INPUTS ?= 20000
# Test processes of make test: one more than cores, since tests wait for what they start.
JOBS ?= 3
export FUZZ_SEED SOAK_MINUTES SOAK_SEED SOAK_TURNS
# Where it is set, every process would compile the tests and the trainer once more.
unexport PYTHONDONTWRITEBYTECODE
LAUNCH ?= tests/launch/end_to_end tests/roles/test_gcp_training.py
# What holds for any API server, and is asked of a real one, too.
KUBE ?= tests/sandbox/kube/test_conformance.py tests/modules/k8s tests/kube tests/launch/unit/cluster/test_admission.py tests/launch/unit/cluster/test_one_off_jobs.py

.PHONY: quickstart test test-coverage test-differential test-ansible test-trainer test-trackers test-launch test-cloud test-images test-cluster test-kube test-page rehearsals fuzz soak drills lint bench bench-scale bench-launch \
  bench-trainer bench-aws bench-kube bench-page page-picture kube-assets trainer-ready aws-cli packages kube-packages image-packages page-packages clean

quickstart: $(TRAINS) packages  ## set up, and train GPT-2 with DeepSpeed ZeRO-1 on two SSH nodes of this machine
	$(RUN) invoke train.launch --profile gpt2-micro-smoke --nodes 2 --launcher deepspeed --set train.strategy.name=deepspeed

test: $(READY) packages  ## everything that is quick
	$(RUN) pytest -n $(JOBS) $(addprefix --ignore ,$(APART))

test-coverage: export COVERAGE_FILE := $(CURDIR)/.coverage
test-coverage: $(READY) packages  ## the lines that the quick tests run, in the processes they start as well; COVERED=tests/engine takes some
	$(RUN) coverage erase
	$(RUN) coverage run -m pytest -n 2 $(COVERED)
	$(RUN) coverage combine -q
	$(RUN) coverage report --skip-covered --sort=cover

test-cloud: $(READY) $(AWS_CLI) packages  ## cloud modules and roles against the pretend clouds, looked at with the real aws and gcloud
	$(RUN) pytest -n 3 -m "not drill and not processes" $(CLOUD)

test-images: $(TRAINER_READY) image-packages  ## images built, pushed and run for real: buildah, a registry on loopback, skopeo
	$(RUN) pytest $(IMAGES)

test-cluster: $(READY) packages kube-packages  ## the sandbox's cluster, and every add-on role on it, looked at with the real kubectl
	$(RUN) pytest -n 2 $(CLUSTER)

test-kube: $(READY) packages kube-packages  ## the Kubernetes suite once more, on a real kube-apiserver
	assets="$$($(MAKE) -s kube-assets)" && KUBEBUILDER_ASSETS="$$assets" PLAYRUNNER_TEST_KUBE=real $(RUN) pytest -n 2 $(KUBE)

test-page: $(READY) $(TRAINS) packages page-packages  ## the page in a real Chromium, with a run on two nodes
	$(RUN) pytest tests/page

rehearsals: $(TRAINER_READY) $(AWS_CLI) packages kube-packages  ## every guide whole with its own profile, a quarter of an hour; STORIES="gke eks-gpu" takes some
	$(RUN) tests.rehearsals $(STORIES)

fuzz: $(READY)  ## mutated files, replies and answers on every surface; FUZZ_INPUTS=200000 takes hours, FUZZ_SEED=7 starts elsewhere
	FUZZ_INPUTS=$(FUZZ_INPUTS) $(RUN) pytest -q -n 2 tests/fuzz $(if $(FUZZ_SEED),--hypothesis-seed $(FUZZ_SEED))

soak: $(READY) packages kube-packages  ## plays, launches and clouds under random faults, for four hours; SOAK_MINUTES=10, SOAK_SEED=7 repeats an order, SOAK_TURNS="play cloud" takes some
	$(RUN) tests.soak

drills: $(READY) packages  ## a run of all cloud roles killed at every event, every answer lost, every permission denied in turn; PLAYRUNNER_DRILL_EVERY=20 takes some, DRILL=denied, lag, killed or lost one kind
	$(RUN) pytest -n 2 --timeout 14400 -m drill tests/roles $(if $(DRILL),-k "$(DRILL)")

test-trainer: $(TRAINER_READY)  ## the trainer, with real processes that train; takes some minutes
	OMP_NUM_THREADS=1 $(RUN) pytest tests/trainer --confcutdir tests/trainer

test-trackers: $(TRAINER_READY)  ## metrics in Weights & Biases and MLflow through their own libraries, which are installed first: 150 MB
	$(RUN) pip install -q -e ".[wandb,mlflow]"
	OMP_NUM_THREADS=1 $(RUN) pytest -rs tests/trainer/test_trackers.py --confcutdir tests/trainer

test-launch: $(TRAINER_READY) packages  ## training across nodes: real sshd, real processes, real faults; takes some minutes
	$(RUN) pytest -n 3 --dist loadfile $(LAUNCH)

test-differential: $(READY) packages  ## playbooks against what ansible-core made of them; PLAYRUNNER_DIFFERENTIAL=live runs it beside them
	$(RUN) pytest tests/differential -n 2

test-ansible: $(READY) packages  ## ansible-core's own integration targets, by both; needs root; TARGETS="copy file" takes some
	$(RUN) tests.ansible_suite $(TARGETS)

lint: $(READY)
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(RUN) mypy --explicit-package-bases --namespace-packages roles tasks.py
	PYTHONPATH=. $(VENV)/bin/lint-imports
	$(VENV)/bin/vermin -q --no-tips --eval-annotations -t=3.9- --violations playrunner/hostside/*.py playrunner/modules/host/*.py playrunner/training/modules/train/*.py

bench: $(READY) packages  ## against the tools people use today; takes about an hour, most of it Ansible's
	$(RUN) benchmarks.runner
	$(RUN) benchmarks.ansible_collections

bench-scale: $(READY) packages  ## 1 to 1,000 simulated hosts at 0, 20 and 100 ms, beside the floor; HOSTS=1,10 RTT=20 takes some
	$(RUN) benchmarks.fleet $(if $(HOSTS),--hosts $(HOSTS)) $(if $(RTT),--rtt $(RTT))

bench-launch: $(TRAINS) packages  ## from the command to the first step, against the same ranks started by hand
	$(RUN) benchmarks.launch
	$(RUN) benchmarks.launch --first-step-only --profile gpt2-micro --set train.steps=2 --set train.schedule.decay_steps=400000

bench-aws: $(READY)  ## calls and seconds to make, make again and tear down a cluster in the pretend AWS
	$(RUN) benchmarks.aws

bench-kube: $(READY) kube-packages  ## 200 objects, against kubectl apply of the same files; then 1,000 against our 200
	$(RUN) benchmarks.kube

bench-page: $(READY) page-packages  ## the page with 1,000 runs, and a run with 10,000 results, in Chromium
	$(RUN) benchmarks.page

page-picture: $(READY) page-packages  ## docs/page.png, the picture of the page in the README
	$(RUN) benchmarks.page_picture docs/page.png

bench-trainer: $(TRAINS)  ## the trainer against a hand-written loop, on this machine's CPU
	OMP_NUM_THREADS=1 $(RUN) benchmarks.trainer_cpu

$(RUNS): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install -q --upgrade pip
	$(RUN) pip install -q -e .
	$(RUN) compileall -q playrunner roles tasks.py
	touch $@

$(READY): $(RUNS)
	$(RUN) pip install -q -e ".[dev]"
	touch $@

$(TRAINS): $(RUNS)
	$(RUN) pip install -q -e ".[train,sandbox]"
	touch $@

$(TRAINER_READY): $(READY) $(TRAINS)
	$(RUN) pip install -q -e ".[train-test]"
	touch $@

kube-assets:  ## a real kube-apiserver, etcd and kubectl, built from Debian's source package; minutes the first time, then none
	@$(PYTHON) -m playrunner.sandbox.kube.process.assets

# Apart from ours, since it insists on a botocore of its own.
$(AWS_CLI):
	$(PYTHON) -m venv $(dir $@)
	$(dir $@)bin/python -m pip install -q awscli
	touch $@

trainer-ready: $(TRAINER_READY)

aws-cli: $(AWS_CLI)

# install PROGRAM:PACKAGE...: what is missing comes from Debian; only root can install it
define install
	@missing=""; for each in $(1); do \
	  PATH="$$PATH:/usr/sbin:/sbin" command -v $${each%%:*} >/dev/null || missing="$$missing $${each##*:}"; done; \
	[ -z "$$missing" ] || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; }
endef

packages:  ## what tests and the sandbox need from Debian
	$(call install,sshd:openssh-server ssh:openssh-client sudo:sudo git:git ip:iproute2 iptables:iptables svn:subversion)

kube-packages:  ## kubectl, and names for the sandbox's pods
	$(call install,kubectl:kubernetes-client)
	@[ -n "$$(ls /usr/lib/*/libnss_wrapper.so 2>/dev/null)" ] || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libnss-wrapper; }

image-packages:  ## a builder of images, a registry, and somebody to look into it
	$(call install,buildah:buildah skopeo:skopeo docker-registry:docker-registry)

page-packages:  ## a browser to test the page with
	$(call install,chromium:chromium)

clean:
	-$(RUN) invoke sandbox.down --yes
	rm -rf $(VENV) $(dir $(AWS_CLI)) .bench build *.egg-info
