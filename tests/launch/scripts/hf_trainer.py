"""A script for the Hugging Face Trainer; its output is the Trainer's own."""

import argparse

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--output_dir", required=True)
parser.add_argument("--max_steps", type=int, default=6)
options = parser.parse_args()
tokens = torch.arange(16).remainder(32)
rows = [{"input_ids": tokens, "labels": tokens} for _ in range(64)]
model = GPT2LMHeadModel(GPT2Config(vocab_size=32, n_positions=16, n_embd=16, n_layer=1, n_head=2))
Trainer(
    model=model,
    args=TrainingArguments(
        output_dir=options.output_dir,
        max_steps=options.max_steps,
        per_device_train_batch_size=2,
        logging_steps=2,
        save_steps=3,
        use_cpu=True,
        report_to=[],
    ),
    train_dataset=rows,
).train()
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
