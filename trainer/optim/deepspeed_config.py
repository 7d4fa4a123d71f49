"""DeepSpeed's JSON, rendered from the profile so that nothing is said twice; a launcher writes it
beside the run, with the schedule."""

from __future__ import annotations

from typing import Any

from trainer.config import Train
from trainer.validate import accumulation


def rendered(train: Train, world_size: int, on_cpu: bool) -> dict[str, Any]:
    """The JSON DeepSpeed reads. The learning rate is not in it: the loop sets it from the profile's
    schedule."""
    optimizer, strategy = train.optimizer, train.strategy
    parameters: dict[str, Any] = {
        "lr": optimizer.lr,
        "betas": list(optimizer.betas),
        "eps": optimizer.eps,
        "weight_decay": optimizer.weight_decay,
        "torch_adam": True,  # DeepSpeed's own would be compiled on the node at first use
    }
    zero: dict[str, Any] = {
        "stage": strategy.zero_stage,
        "allgather_partitions": True,
        "allgather_bucket_size": strategy.bucket_size,
        "reduce_scatter": True,
        "reduce_bucket_size": strategy.bucket_size,
        # In stages 1 and 2 one rank has nothing to overlap, and would wait for its GPU at each step
        "overlap_comm": not on_cpu and (world_size > 1 or strategy.zero_stage == 3),
        "contiguous_gradients": True,
    }
    if strategy.zero_offload != "none":
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if strategy.zero_offload == "parameters":
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
    return {
        "train_batch_size": train.batch_size,
        "train_micro_batch_size_per_gpu": train.device_batch_size,
        "gradient_accumulation_steps": accumulation(train, world_size),
        "gradient_clipping": optimizer.grad_clip,
        "optimizer": {"type": "AdamW", "params": parameters},
        "zero_optimization": zero,
        "fp16": {"enabled": train.precision == "fp16"},
        "bf16": _bf16(train),
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "steps_per_print": 1_000_000_000,  # the loop does the talking
        # The loop counts tokens itself; DeepSpeed's timer waits for the GPU twice in a micro-batch
        "timers": {"throughput": {"enabled": False}},
    }


def _bf16(train: Train) -> dict[str, Any]:
    if train.precision not in ("bf16", "fp8"):
        return {"enabled": False}
    # bf16 has fp32's range; a run that ends at a loss that is no number need not wait for the GPU
    # at every step to look for one
    return {"enabled": True, "check_grad_overflow": not train.guard.stop_on_nan}


def written(train: Train, world_size: int, on_cpu: bool) -> dict[str, Any]:
    """The same with what the loop decides beside the engine, in the words of the guides' files: for
    whoever reads it, and for programs that start DeepSpeed by themselves."""
    config = rendered(train, world_size, on_cpu)
    zero = {
        **config["zero_optimization"],
        "cpu_offload": train.strategy.zero_offload != "none",  # what it was called before 0.3.15
    }
    return {**config, "zero_optimization": zero, **_scheduler(train)}


def _scheduler(train: Train) -> dict[str, Any]:
    """Of DeepSpeed's own schedules the one that gives the same rates; none where there is none."""
    schedule = train.schedule
    warmup_types = {"linear": "linear", "log-warmup": "log"}
    if schedule.name not in warmup_types or schedule.min_lr:
        return {}
    total = schedule.decay_steps or train.steps
    parameters = {
        "total_num_steps": total,
        "warmup_min_lr": 0.0,
        "warmup_max_lr": train.optimizer.lr,
        "warmup_num_steps": schedule.warmup_steps or round(schedule.warmup_fraction * total),
        "warmup_type": warmup_types[schedule.name],
    }
    return {"scheduler": {"type": "WarmupDecayLR", "params": parameters}}
