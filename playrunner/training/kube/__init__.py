"""Training runs on Kubernetes: the same profile, environment, records and verbs as over SSH.

session         the inventory's settings and the API
job_spec/       job (a value), sizing (pod size, refusals), command and pod (what runs), render
                (variables of manifests/training and of tasks/cluster.yaml), node_capacity, names,
                dry_run (a pod tried on the server before its job is submitted), ssh_keys, secrets
                (deleted when the run is over)
launchers/      one file for each kind of job
runs/           run_view, selection, follow (job, pods, logs) with log_tails, pod_output, rank0,
                repeated_steps, bad_nodes (faults of nodes, by ../diagnosis/blame), give_up
network/        gate (the check that ranks run before they train), gate_result, pool (quarantine),
                connectivity (asked inside pods), bandwidth_bench
node_groups/    groups as clouds describe them, grown before the pods need them
diagnosis/      facts -> waiting, trouble
one_off/        one_off_job (stage, export), side_pod (shell, tensorboard), cacheset, compiling
plan, ending, conclusion: from a request to a job; objects deleted, records kept; how it ended
Each other file is a verb.

In a pod, trainer/node/pod_entry.py starts first: it unpacks the code, waits for the first pod, then
runs torchrun; with ssh_keys, trainer/node/pod_ssh_entry.py does.

How to extend it:
- another kind of job: a file in launchers/ with its LAUNCHER, one line in ../launchers.py, and a
  template in manifests/training where none of those there fits
- another program in a pod of its own: a `one_off.one_off_job.OneOffJob`, started by its `submit`
- another cloud whose node groups can grow: its label and a reader in node_groups/groups.py, a step
  in tasks/grow.yaml
"""
