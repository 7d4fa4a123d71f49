"""The training program that launched processes run: `python -m trainer --profile gpt2-micro-smoke
--output runs/one`.

config.py      every setting, its default and why       profile.py    YAML profiles: inheritance, overrides, complaints
data/          samples by number, in a seeded order     models/       GPT-2, Llama, BERT, an MLP: Hugging Face's names
strategies/    ddp, fsdp, deepspeed, neuron             loop.py       the training loop
checkpoint.py  save, verify, find, keep                 metrics.py    one JSON line per logged step
gate.py        proves the network between the ranks     node/         what a node does for a run: keep, link, follow

It imports nothing of the runner: the two meet in a command line, an environment and a profile file.
"""
