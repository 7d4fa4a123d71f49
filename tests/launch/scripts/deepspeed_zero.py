"""A script for DeepSpeed with its own flags: --local_rank and --deepspeed_config."""

import argparse

import deepspeed
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)
parser.add_argument("--steps", type=int, default=5)
deepspeed.add_config_arguments(parser)
options = parser.parse_args()
deepspeed.ops.__compatible_ops__ = {}  # nothing is compiled, which takes minutes
deepspeed.init_distributed(dist_backend="gloo")
model = torch.nn.Linear(8, 1)
engine, *_ = deepspeed.initialize(args=options, model=model, model_parameters=model.parameters())
for step in range(1, options.steps + 1):
    loss = engine(torch.ones(2, 8)).pow(2).mean()
    engine.backward(loss)
    engine.step()
    if torch.distributed.get_rank() == 0:
        print(
            f"step: {step}, local_rank: {options.local_rank}, loss: {loss.item():.5f}", flush=True
        )
