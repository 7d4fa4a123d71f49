"""Training runs on Kubernetes: the same profile, environment, records and verbs as over SSH, run by
a cluster.

The place        ground (what the inventory says, the way there)  names (ids, labels)  offers (what nodes have free)
The job          job (a value)  sizing (how large a pod is, what is refused)  command, pod (what runs)  launchers/ (five ways)
                 plan (from a request to a job)  render (the variables of manifests/training and of
                 tasks/cluster.yaml) trial (its pod, tried on the server before anything is
                 submitted)
Launching        launch -> follow (job, pods, logs as they change) -> tails (each line once) -> conclusion
The gate         gate (the ranks' own, before they train)  gate_hearing (its result in rank 0's log)  gate_pool (quarantine)
                 gate_bench (the gate by itself: train.bench)
Looking          found (runs as the cluster tells them)  selection  words (logs, metrics)  rank0 (who it is)  status logs watch
Ending           ending (spec, logs, events kept; objects gone; pods waited for)  stop  resume (and scale)
Trouble          diagnosis/ (facts -> waiting, trouble)  why  netcheck, reach (asked inside pods)  top
Losses           setbacks (steps done again)  bad_nodes (a node that fails twice is put aside, a spare joins)
                 outlook (what nothing will bring on any more is given up)
Room             groups (as clouds tell of them)  growing (a node group before the pods that need it)
Beside a run     helper (a pod with the claim)  shell  board
Before and after errand (something done once by a Job: ../stage, ../export)  cacheset (whose it is)
compiling (../precompile)

In a pod, trainer/node/pod_entry.py comes first: code unpacked, the first pod awaited, then
torchrun. Or, by `keys`, trainer/node/pod_ssh_entry.py.

Where more can be joined on:
- another kind of job: a file in launchers/ with its KIND, and a template of its name in
  manifests/training
- another program in a pod of its own, as staging and exporting are: an `errand.Errand`, sent by
  `errand.send`
- nodes to be left out: a taint does it, for the scheduler and for `sizing`; spares and quarantine
  come before `plan.plan`
- another cloud whose node groups can grow: its label and a reader in `groups`, a step in
  tasks/grow.yaml
"""
