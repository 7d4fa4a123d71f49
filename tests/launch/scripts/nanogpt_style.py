"""A character model in the manner of nanoGPT: --name=value settings, out/ckpt.pt, `iter` lines."""

import os
import sys
import time

import torch
import torch.distributed as dist
from model import Bigram
from torch import nn
from torch.nn.parallel import DistributedDataParallel

settings = {"max_iters": 8, "init_from": "scratch", "out_dir": "out", "pause": 0.0}
for argument in sys.argv[1:]:
    name, _, value = argument.removeprefix("--").partition("=")
    settings[name] = type(settings[name])(value)

dist.init_process_group("gloo")
master = dist.get_rank() == 0
torch.manual_seed(1337 + dist.get_rank())
model, begun = Bigram(65), 0
path = os.path.join(settings["out_dir"], "ckpt.pt")
if settings["init_from"] == "resume":
    saved = torch.load(path)
    model.load_state_dict(saved["model"])
    begun = saved["iter_num"] + 1
model = DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-1)
if master:
    os.makedirs(settings["out_dir"], exist_ok=True)
for iter_num in range(begun, settings["max_iters"]):
    t0 = time.time()
    tokens = torch.arange(64).remainder(65).repeat(4, 1)
    loss = nn.functional.cross_entropy(
        model(tokens[:, :-1]).reshape(-1, 65), tokens[:, 1:].reshape(-1)
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(settings["pause"])
    if master:
        dt = time.time() - t0
        print(f"iter {iter_num}: loss {loss.item():.4f}, time {dt * 1000:.2f}ms, mfu -100.00%")
        torch.save({"model": model.module.state_dict(), "iter_num": iter_num}, f"{path}.new")
        os.replace(f"{path}.new", path)  # saved at each step: a stop would often meet half a file
dist.destroy_process_group()
