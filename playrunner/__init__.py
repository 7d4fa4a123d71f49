"""Playrunner: an Ansible-style playbook runner for distributed training clusters.

The map of the package, top layer first. A line may import the lines below it, never one above
(`[tool.importlinter]` in pyproject.toml; `make lint` checks it).

page        runs, training, clusters and money in a browser, and reports as one HTML file
training    launch, watch and diagnose training runs, over SSH and on Kubernetes
modules     what a step can name: one file per module, in a folder per kind (host, play, aws, ...)
commands    the commands a user types, one file per group
doctor      checks whether this machine and the jump host have what an inventory needs
lifecycle   status, deletion and teardown of the resources of roles
leftovers   finds and deletes resources that a stack left behind in an account or project
jumphost    the jump host's inventory file, and logging in to it
run         runs plays: batches of hosts, pending steps, loops, handlers, rollback
images      container images: their content, who builds them, registries
kube        Kubernetes: client, kubeconfig files, watches, sets of objects, streams, nodes
inventory_plugins  hosts, groups and variables made of expressions or asked of a cloud
gcp         Google Cloud over REST
aws         AWS clients, tags and EKS tokens
cloud       what every cloud's resources share: reconciling, the call log, owner tags, prices
output      what a user sees: lines, diffs, recap, JSON
ssh         reaching hosts: targets, host keys, connections, agents, port forwarding
record      run folders (the ledger), past runs, and the lock of an inventory
playbook    reads playbooks, roles and steps from YAML and checks their arguments
variables   which value a name has: precedence, scopes, templates, filters and lookups
inventory   reads inventories: hosts, groups, their variables, and host patterns
results     Result and Recap: what one step did on one host, and the counts of a run
model       Play, Block, Step and Role: a playbook as values
options     the flags that all commands share
plugins     modules and plugins written for Ansible: in library/, roles and collections
project     where roles, manifests, playbooks and inventories are found: the project, the package
hostside    code that is sent to hosts and runs inside the agent (Python 3.9, standard library)
config      reads the user's ansible.cfg and ANSIBLE_* variables
text        guarded YAML and JSON readers, safe paths, suggestions for misspelled names
vault       encrypted values and files: format, passwords, and the texts output has to hide
errors      named errors, each with its exit code
frozen      `@frozen` and `@mutable`: dataclasses that are cheap to define

Outside the layers:

sandbox     the local sandbox: hosts, AWS, Google Cloud and Kubernetes to rehearse runbooks with
__main__    `python -m playrunner`, the same as the `playrunner` command
metrics     `metrics.log(...)` for training scripts; it travels to the nodes with the trainer
eks_token   `python -m playrunner.eks_token`, the program that EKS kubeconfig files name
gke_token   `python -m playrunner.gke_token`, the program that GKE kubeconfig files name
"""
