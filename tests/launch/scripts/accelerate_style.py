"""A plain script with Hugging Face's `accelerate`, as its documentation has people write them."""

import argparse
import os

import torch
from accelerate import Accelerator
from model import Bigram
from torch import nn
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=6)
parser.add_argument("--output_dir", default="out")
options = parser.parse_args()
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
tokens = torch.arange(64).remainder(65)
loader = DataLoader([tokens] * 256, batch_size=4)
model = Bigram(65)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-1)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for step, batch in enumerate(loader):
    if step == options.steps:
        break
    with accelerator.accumulate(model):
        logits = model(batch[:, :-1])
        loss = nn.functional.cross_entropy(logits.reshape(-1, 65), batch[:, 1:].reshape(-1))
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    mean = accelerator.reduce(loss.detach(), "mean").item()
    accelerator.print(f"step {step} of {accelerator.num_processes} processes, loss: {mean:.4f}")
accelerator.wait_for_everyone()
accelerator.save_state(os.path.join(options.output_dir, "state"))
accelerator.end_training()
