"""The engine: runs plays. Knows nothing of clusters' sizes, GPUs or models.

Reading in      documents (YAML with lines)  inventory, inventories/, patterns  load/ (playbooks, steps, roles)  extra_vars
Values          model (Play, Block, Step)  state, module (what a module is)  results  errors  options
Variables       variables (who wins)  templating, filters/ (jinja2)
Choosing        plan (tags, batches)
Running         run -> execute -> batch, strand (one host's way) -> launch, loops, includes, handlers, request -> courier
Reaching hosts  targets, hostkeys -> connection (Fabric) -> agents -> agent, answer (the half on the host)  shipments (files)
                frames -> replies (what a host may send, checked once)  limits  agent_code (what is
                sent to make an agent)
Outside plays   fleet (hosts asked or given a program)  stage (the sandbox behind an inventory)  quarantine (hosts put aside)
                doctor/ (what this machine lacks)
Clouds          cloud (what a thing there is) -> settle (look until it is there)  background (steps side by side)  controller
                clients (AWS), gcp/ (Google Cloud), kube* (Kubernetes), shared_reads, clouds, owner
                (our mark), journal, intents eks_token, gke_token  chosen_clouds (which of them an
                inventory is about) survey -> removal -> stock (shown or deleted)  leftovers/ (the
                sweep)  teardown  prices, costs instances (what machines have)
Images          images/ (what goes in, who builds, which registry)
On any side     bring (look, differ, change), modules/
Telling         report, terminal, diffs  ledger (run folders)  locking
Commands        cli, verbs/ (role: what every role can do)  manual (docs of modules)  oneoff  trust
"""
