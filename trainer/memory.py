"""How much memory a process of a profile needs on its device, counted from the settings alone.

States are counted exactly; activations by measured bytes per token, layer and unit of width, for
the slower path without torch.compile, which needs more.
"""

from __future__ import annotations

from trainer.config import Model, Train
from trainer.frozen import frozen
from trainer.validate import padded_vocab, sequence_length

GIB = 2.0**30
_SEGMENTS = 2  # BERT's first and second sentence
# Kept for the backward pass per token, layer and unit of width, without torch.compile
_KEPT_BYTES = {"fp32": 130, "bf16": 110, "bf16-master": 110, "fp16": 110, "fp8": 90}
_SCORE_BYTES = 12  # per score of attention computed in fp32: scores, softmax, its lower copy
_LOGIT_BYTES = 10  # per logit: as computed, in fp32, and its gradient
_MASKED_SHARE = 0.16  # of BERT's tokens, which alone meet the vocabulary
# The context of CUDA or Neuron, its kernels and the buffers of the collectives
_DEVICE_OVERHEAD = 1.5 * GIB
_PROCESS_OVERHEAD = 0.5 * GIB  # torch and its libraries, of a process on CPUs


@frozen
class Estimate:
    """Bytes of one process, on its device except `host`."""

    parameters: int
    weights: float = 0.0
    gradients: float = 0.0
    optimizer: float = 0.0
    gathered: float = 0.0  # whole blocks in use, of sharded weights; and communication buckets
    activations: float = 0.0
    overhead: float = 0.0
    host: float = 0.0  # what is offloaded to the node's memory

    @property
    def total(self) -> float:
        parts = (self.weights, self.gradients, self.optimizer, self.gathered)
        return sum(parts) + self.activations + self.overhead


def parameter_count(train: Train) -> int:
    """Of the model that is trained, its padded vocabulary included."""
    model = train.model
    return (
        _outside_blocks(train) + model.layers * _block(model) if _has_blocks(model) else _mlp(model)
    )


def estimate(train: Train, world_size: int, per_node: int, on_cpu: bool = False) -> Estimate:
    """Of each process, for so many of them in all and on every node."""
    states = _states(train, world_size, per_node)
    kept, offloaded = _activations(train)
    return Estimate(
        parameter_count(train),
        states.weights + _teacher(train),
        states.gradients,
        states.optimizer,
        states.gathered,
        kept + (0.0 if not on_cpu else offloaded),
        _PROCESS_OVERHEAD if on_cpu else _DEVICE_OVERHEAD,
        states.host + (0.0 if on_cpu else offloaded),
    )


def _has_blocks(model: Model) -> bool:
    return model.kind != "mlp"


def _mlp(model: Model) -> int:
    width = model.mlp_width or model.width
    return (model.inputs + 1) * width + (width + 1) * width + (width + 1) * model.classes


def _block(model: Model) -> int:
    width, inner = model.width, model.mlp_width or 4 * model.width
    if model.kind == "llama":
        grouped = width * (model.kv_heads or model.heads) // model.heads
        return 2 * width**2 + 2 * width * grouped + 3 * width * inner + 2 * width
    biases = 4 * width + inner + width + 2 * width if model.kind == "bert" or model.bias else 0
    return 4 * width**2 + 2 * width * inner + 2 * width + biases


def _outside_blocks(train: Train) -> int:
    """Embeddings, heads and the last norm."""
    model, vocabulary = train.model, padded_vocab(train)
    width = model.width
    if model.kind == "llama":
        return vocabulary * width * (1 if model.tied_embeddings else 2) + width
    if model.kind == "gpt2":
        return (vocabulary + model.context) * width + width * (2 if model.bias else 1)
    embeddings = (model.vocab_size + model.context + _SEGMENTS) * width + 2 * width
    dense = width**2 + width  # the pooler, and the transform of the first head
    return embeddings + 2 * dense + 2 * width + model.vocab_size + 2 * width + 2


@frozen
class _States:
    weights: float
    gradients: float
    optimizer: float
    gathered: float = 0.0
    host: float = 0.0


def _states(train: Train, world_size: int, per_node: int) -> _States:
    if train.strategy.name == "fsdp":
        return _fsdp(train, world_size, per_node)
    if train.strategy.name == "deepspeed":
        return _deepspeed(train, world_size)
    count = parameter_count(train)
    if train.precision == "bf16-master":
        return _States(6.0 * count, 4.0 * count, 8.0 * count)
    # Autocast keeps a copy of the weights in the lower precision until the step is over.
    lower = 0.0 if train.precision == "fp32" else 2.0
    return _States((4.0 + lower) * count, 4.0 * count, _moments(train) * count)


def _moments(train: Train) -> float:
    if train.optimizer.name == "sgd":
        return 4.0 if train.optimizer.momentum else 0.0
    return 8.0


def _fsdp(train: Train, world_size: int, per_node: int) -> _States:
    shards = world_size if train.strategy.sharding == "full" else min(world_size, per_node)
    count = parameter_count(train)
    own, moments = 4.0 * count / shards, _moments(train) * count / shards
    lower = 4.0 if train.precision == "fp32" else 2.0
    # The block in use and the next one; gradients of one, and their sum over ranks in fp32. What
    # is outside of blocks stays whole until its gradients are summed.
    block = _block(train.model) if _has_blocks(train.model) else count
    outside = _outside_blocks(train) if _has_blocks(train.model) else 0
    gathered = 0.0 if shards == 1 else block * (3 * lower + 4.0) + outside * (2 * lower + 4.0)
    if train.strategy.cpu_offload:
        return _States(0.0, 0.0, 0.0, gathered, 2 * own + moments)
    return _States(own, own, moments, gathered)


def _deepspeed(train: Train, world_size: int) -> _States:
    strategy, count = train.strategy, parameter_count(train)
    lower = 4.0 if train.precision == "fp32" else 2.0
    masters = (0.0 if train.precision == "fp32" else 4.0) + _moments(train)
    weights = lower * count / (world_size if strategy.zero_stage == 3 else 1)
    gradients = lower * count / (world_size if strategy.zero_stage >= 2 else 1)
    optimizer = masters * count / world_size
    # Reductions and gathers overlap with computing, so each has two buckets; no larger than all.
    gathered = 4 * lower * min(strategy.bucket_size, count)
    if strategy.zero_stage == 3 and _has_blocks(train.model):
        gathered += lower * (2 * _block(train.model) + _outside_blocks(train))
    if strategy.zero_offload == "none":
        return _States(weights, gradients, optimizer, gathered)
    if strategy.zero_offload == "optimizer":
        return _States(weights, gradients, 0.0, gathered, optimizer)
    return _States(0.0, gradients, 0.0, gathered, optimizer + weights)


def _activations(train: Train) -> tuple[float, float]:
    """Bytes on the device, and in the node's memory where they are offloaded."""
    model, samples, strategy = train.model, train.device_batch_size, train.strategy
    if not _has_blocks(model):
        return samples * (model.inputs + 4.0 * (model.mlp_width or model.width)) * 8, 0.0
    layer, logits = block_bytes(train), logit_bytes(train)
    if strategy.activation_checkpointing is not True:
        return model.layers * layer + logits, 0.0
    count = strategy.recomputed_blocks or model.layers
    cheap, inputs = recomputed_bytes(train)
    kept = (model.layers - count) * layer
    kept += count * (cheap - inputs if strategy.recompute == "cheap" else 0.0)
    # One block is computed again at a time, and the logits are gone by then.
    kept, inputs = kept + max(layer, logits), count * inputs
    return (kept, inputs) if strategy.activation_offload else (kept + inputs, 0.0)


def block_bytes(train: Train) -> float:
    """What a block keeps for the backward pass, of which nothing is recomputed."""
    model, samples = train.model, train.device_batch_size
    kept = float(samples * sequence_length(train) * model.width * _KEPT_BYTES[train.precision])
    if model.kind == "gpt2" and model.upcast_attention and train.precision == "fp16":
        kept += samples * model.heads * sequence_length(train) ** 2.0 * _SCORE_BYTES
    return kept


def recomputed_bytes(train: Train) -> tuple[float, float]:
    """What a block keeps whose cheap parts are recomputed, and one of which all is: its input."""
    model, lower = train.model, 4.0 if train.precision == "fp32" else 2.0
    unit = train.device_batch_size * sequence_length(train) * model.width * lower
    inner = (model.mlp_width or 4 * model.width) / model.width
    keys_and_values = 2 * (model.kv_heads or model.heads) / model.heads
    # The input, queries, the attention's result, and the outputs of the other products
    cheap = 3 + keys_and_values + 1 + (2 if model.kind == "llama" else 1) * inner + 1
    return cheap * unit, unit


def logit_bytes(train: Train) -> float:
    model, tokens = train.model, train.device_batch_size * sequence_length(train)
    share = _MASKED_SHARE if model.kind == "bert" else 1.0
    logits = share * tokens * padded_vocab(train) * _LOGIT_BYTES
    if train.fast.fused_loss == "on":
        logits = min(tokens, train.fast.loss_chunk) * padded_vocab(train) * float(_LOGIT_BYTES)
    if train.distill.teacher:
        logits *= 2
    return logits


def _teacher(train: Train) -> float:
    """A teacher's weights: fresh as its settings say, else as large as GPT-2 small."""
    distill = train.distill
    if not distill.teacher:
        return 0.0
    own = distill.teacher == "fresh"
    layers, width = (distill.teacher_layers, distill.teacher_width) if own else (12, 768)
    count = (padded_vocab(train) + train.model.context) * width + layers * 12 * width**2
    return 6.0 * count
