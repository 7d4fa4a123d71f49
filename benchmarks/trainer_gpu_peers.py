"""What the trainer is measured against on a GPU: the chip, a plain compiled model, Hugging Face's
Trainer and Llama."""

from __future__ import annotations

import tempfile
import time
from typing import Any

BATCH, LENGTH, VOCAB = 64, 1024, 50257
LLAMA = {
    "layers": 24,
    "width": 2048,
    "heads": 16,
    "mlp": 5504,
    "vocab": 32000,
    "length": 2048,
    "batch": 8,
}
WARMUP, TIMED = (
    40,
    60,
)  # the steps that are timed in our rows too: a chip that has grown warm is a little slower


def matmul(settings: list[str]) -> dict[str, Any]:
    """What the chip does on large bf16 products of random numbers: the honest ceiling."""
    import torch

    left, right = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(5):
        left @ right
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(50):
        left @ right
    torch.cuda.synchronize()
    return {"flops": 50 * 2 * 8192**3 / (time.perf_counter() - began)}


def plain(settings: list[str]) -> dict[str, Any]:
    """A GPT-2 as small as can be written, with nanoGPT's choices, compiled whole."""
    import torch
    import torch.nn.functional as functional
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(768, bias=False), nn.LayerNorm(768, bias=False)
            self.qkv, self.out = nn.Linear(768, 2304, bias=False), nn.Linear(768, 768, bias=False)
            self.up, self.down = nn.Linear(768, 3072, bias=False), nn.Linear(3072, 768, bias=False)

        def forward(self, x: Any) -> Any:
            rows, length, width = x.shape
            query, key, value = (
                each.view(rows, length, 12, 64).transpose(1, 2)
                for each in self.qkv(self.norm1(x)).split(width, dim=2)
            )
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).contiguous().view(rows, length, width))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class Gpt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(50304, 768), nn.Embedding(LENGTH, 768)
            self.blocks, self.norm = (
                nn.ModuleList(Block() for _ in range(12)),
                nn.LayerNorm(768, bias=False),
            )
            self.head = nn.Linear(768, 50304, bias=False)
            self.head.weight = self.tokens.weight
            for parameter in self.parameters():
                nn.init.normal_(parameter, 0.0, 0.02) if parameter.dim() > 1 else nn.init.ones_(
                    parameter
                )

        def forward(self, x: Any, y: Any) -> Any:
            hidden = self.tokens(x) + self.places(torch.arange(x.shape[1], device=x.device))
            for block in self.blocks:
                hidden = block(hidden)
            logits = self.head(self.norm(hidden))
            return functional.cross_entropy(logits.view(-1, logits.shape[-1]), y.view(-1))

    torch.set_float32_matmul_precision("high")
    model = Gpt().cuda()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True
    )
    called = torch.compile(model)

    def step(tokens: Any) -> Any:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = called(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return _timed(step, BATCH, LENGTH, VOCAB) | {
        "flops_per_token": flops_per_token(124_337_664, 12, 768, LENGTH)
    }


def hf_trainer(settings: list[str], compiled: bool = False) -> dict[str, Any]:
    import torch
    from transformers import (
        GPT2Config,
        GPT2LMHeadModel,
        Trainer,
        TrainerCallback,
        TrainingArguments,
    )

    config = GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False)
    model = GPT2LMHeadModel._from_config(config, attn_implementation="sdpa")
    rows = torch.randint(0, VOCAB, (BATCH * 4, LENGTH))
    data = [{"input_ids": row, "labels": row} for row in rows] * 40
    stamps: list[float] = []

    class Clock(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            if len(stamps) in (WARMUP, WARMUP + TIMED):
                torch.cuda.synchronize()
            stamps.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            per_device_train_batch_size=BATCH,
            max_steps=WARMUP + TIMED + 1,
            bf16=True,
            torch_compile=compiled,
            logging_steps=20,
            save_strategy="no",
            report_to=[],
            learning_rate=6e-4,
            optim="adamw_torch_fused",
            dataloader_drop_last=True,
        )
        result = Trainer(model, arguments, train_dataset=data, callbacks=[Clock()]).train()
    seconds = (stamps[WARMUP + TIMED] - stamps[WARMUP]) / TIMED
    return {
        "tokens_per_second": BATCH * LENGTH / seconds,
        "memory_gb": torch.cuda.max_memory_allocated() / 1e9,
        "loss": result.training_loss,
        "flops_per_token": flops_per_token(124_439_808, 12, 768, LENGTH),
    }


def hf_llama(settings: list[str], liger: bool = False) -> dict[str, Any]:
    """The Hugging Face model in a plain loop with fused AdamW and clipping: compiled, with fp32
    weights and bf16 autocast; or with Liger's kernels and bf16 weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.set_float32_matmul_precision("high")
    config = LlamaConfig(
        vocab_size=LLAMA["vocab"],
        hidden_size=LLAMA["width"],
        intermediate_size=LLAMA["mlp"],
        use_cache=False,
        num_hidden_layers=LLAMA["layers"],
        num_attention_heads=LLAMA["heads"],
        max_position_embeddings=LLAMA["length"],
    )
    if liger:
        from liger_kernel.transformers import apply_liger_kernel_to_llama

        apply_liger_kernel_to_llama()
    model = LlamaForCausalLM._from_config(config, attn_implementation="sdpa").cuda()
    if liger:
        model = model.to(torch.bfloat16)
    count = sum(each.numel() for each in model.parameters())
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.2, fused=True
    )
    called = model if liger else torch.compile(model)

    def step(tokens: Any) -> Any:
        rows = tokens[:, :-1].contiguous()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=not liger):
            loss = called(input_ids=rows, labels=rows).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    timed = _timed(step, LLAMA["batch"], LLAMA["length"], LLAMA["vocab"])
    return timed | {
        "flops_per_token": flops_per_token(count, LLAMA["layers"], LLAMA["width"], LLAMA["length"])
    }


def _timed(step: Any, batch: int, length: int, vocab: int) -> dict[str, Any]:
    import torch

    tokens = torch.randint(0, vocab, (batch, length + 1), device="cuda")
    for _ in range(WARMUP):
        loss = step(tokens)
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(TIMED):
        loss = step(tokens)
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - began) / TIMED
    return {
        "tokens_per_second": batch * length / seconds,
        "memory_gb": torch.cuda.max_memory_allocated() / 1e9,
        "loss": loss.item(),
    }


def flops_per_token(parameters: int, layers: int, width: int, length: int) -> float:
    return 6.0 * parameters + 12.0 * layers * width * length
