"""The training program that launched processes run: `python -m trainer --profile gpt2-micro-smoke
--output runs/one`.

node/         on each node beside training: supervisor, heartbeats, log streaming (no torch)
staging/      data and checkpoints copied to and from object stores (no torch)
netcheck/     the network check before training (the gate), and all-reduce bandwidth
use/          a trained model: generating, evaluating, sending it, importing weights
loop/         the training loop, evaluation, metrics, the guard
strategies/   ddp, fsdp, deepspeed, neuron
checkpoint/   save, verify, find, upload and download checkpoints
optim/        optimizers and learning rates
models/       GPT-2, Llama, BERT, an MLP, with Hugging Face's parameter names
data/         samples by number, in a seeded order
distributed/  the process group, its store and each rank's progress file
memory.py     what a process needs of its device, counted from the settings
profile.py    YAML profiles: inheritance and overrides
config.py     every setting, its default and why
frozen.py     `@frozen`: a dataclass of values that do not change, cheap to define

It imports nothing of the runner: they share a command line, an environment and a profile file.
"""
