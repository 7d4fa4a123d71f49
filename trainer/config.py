"""Every setting of a run, its default and why.

A profile has two halves: `launch` says where the processes come from and is read by what starts
them, `train` says what they do; a profile with a `script` runs that in place of the trainer. The
classes below are the schema: a key that is no field here is an error.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal

from trainer.frozen import frozen


@frozen
class Launch:
    """How the processes are started. The trainer only checks it; the launcher reads it."""

    nodes: int = 1  # machines
    processes_per_node: int = 1  # one per accelerator, or per pair of cores on CPU machines
    # direct: each process is started with its rank in environment variables
    launcher: Literal["direct", "torchrun", "deepspeed", "elastic", "volcano", "pytorchjob"] = (
        "direct"
    )
    min_nodes: int = 0  # elastic runs go on with this many; 0 is not elastic
    max_nodes: int = 0  # and grow to this many
    # How often a run whose process failed starts again from its newest checkpoint, whatever the
    # launcher; bad input and a loss that is no number are not tried again
    max_restarts: int = 3
    restarts_per_hour: int = 6  # and within any hour; the pauses before them grow from 2 to 120 s
    resources: dict[str, Any] = field(
        default_factory=dict
    )  # per node, in the cluster's own words: nvidia.com/gpu: 8
    environment: dict[str, str] = field(default_factory=dict)  # extra variables for every process
    launcher_args: tuple[str, ...] = ()  # for torchrun or DeepSpeed's launcher, as they are


@frozen
class RopeScaling:
    """Llama's rotary positions stretched beyond the context they were trained for."""

    kind: Literal["none", "linear", "llama3"] = "none"  # llama3: that of Llama 3.1 and later
    factor: float = 1.0  # how many times longer
    # llama3: dimensions that turn less often than the first within original_context are stretched,
    # those that turn more often than the second are not
    low_frequency: float = 1.0
    high_frequency: float = 4.0
    original_context: int = 8192


@frozen
class Model:
    """The network's shape, in one vocabulary for all families; export translates it to Hugging
    Face's names."""

    kind: Literal["gpt2", "llama", "bert", "mlp"] = "gpt2"  # which family
    layers: int = 12  # blocks
    heads: int = 12  # attention heads; must divide the width
    kv_heads: int = 0  # grouped-query attention (llama); 0 is as many as heads
    width: int = 768  # of the residual stream
    mlp_width: int = 0  # inside the feed-forward; 0 is 4 x width
    context: int = 1024  # the longest sequence the positions reach
    vocab_size: int = 50257  # GPT-2's; what is exported, whatever the padding
    dropout: float = 0.1  # GPT-2's and BERT's published value, everywhere they have it
    initializer_range: float = 0.02  # standard deviation of fresh weights
    norm_eps: float = 1e-5  # GPT-2 and Llama 2; BERT uses 1e-12
    tied_embeddings: bool = True  # the output projection is the token embedding (Llama: not)
    bias: bool = True  # GPT-2 without biases is a little faster; exported with zeros
    rope_base: float = 10000.0  # Llama's rotary base
    rope_scaling: RopeScaling = RopeScaling()  # Llama's
    # Scores in fp32, scaled by layer number too: steadier in fp16, without flash attention
    upcast_attention: bool = False
    inputs: int = 784  # mlp: a 28 x 28 picture
    classes: int = 10  # mlp: digits
    initial_weights: str = ""  # a folder in Hugging Face format to start from; "" is fresh
    freeze_positions: bool = False  # keep GPT-2's position embeddings as they came


@frozen
class Distill:
    """Distillation: alpha_ce * T^2 * KL + alpha_clm * cross-entropy + alpha_mse * MSE."""

    # A folder in Hugging Face format, `fresh` for an untrained one, "" for no teacher
    teacher: str = ""
    teacher_layers: int = 12  # only for `fresh`
    teacher_heads: int = 12
    teacher_width: int = 768
    alpha_ce: float = 0.0  # weight of agreeing with the teacher
    alpha_clm: float = 1.0  # weight of the ordinary loss
    alpha_mse: float = 0.0  # weight of equal logits
    temperature: float = 1.0  # above 1 softens both distributions


@frozen
class Data:
    """Where samples come from. Their order is a function of (seed, epoch, number) alone."""

    # Runs offline
    source: Literal["synthetic", "text", "folder", "tokens", "hdf5", "mnist", "hf"] = "synthetic"
    path: str = ""  # the file or folder, for every source but synthetic and hf
    # The same kind of thing, for evaluation; "" takes validation_fraction
    validation_path: str = ""
    validation_fraction: float = 0.0005  # held back from the end, as the openwebtext recipe does
    # 256 values and an end mark; or trained: byte-level BPE made on the spot; or a folder or hub
    # name
    tokenizer: str = "bytes"
    tokenizer_size: int = 8192  # entries of a trained one
    # One token stream cut to length, or one text per row, padded
    layout: Literal["packed", "documents"] = "packed"
    group_by_size: bool = False  # documents of like length share a batch, so little is padding
    # Documents of gpt2 and llama share rows: next to no padding, the same loss. auto: on a GPU
    packing: Literal["auto", "on", "off"] = "auto"
    shuffle: bool = True  # off keeps file order
    # Streams: rows held in memory and shuffled among one another; resuming reads that many again
    shuffle_rows: int = 1024
    sequence: int = 0  # tokens per row; 0 is the model's context
    cache: str = ""  # where token shards are kept; "" is <output>/data
    # Per shard: 128 MiB of 16-bit tokens, small enough to copy, large enough to be few
    shard_tokens: int = 67_108_864
    workers: int = 2  # threads that tokenise
    prefetch: int = 4  # batches made ready ahead of the model
    samples: int = 4096  # synthetic: how many different ones
    latency: float = 0.0  # synthetic: seconds a batch takes to come, as from slow storage
    dataset: str = ""  # hf: the hub's name, as allenai/c4
    dataset_config: str = ""  # hf: as en or wikitext-103-raw-v1
    split: str = "train"  # hf
    # hf, folder, text: read while training instead of tokenising to disk first
    stream: bool = False


@frozen
class Optimizer:
    # lamb: for batches of tens of thousands, as BERT's
    name: Literal["adamw", "lamb", "sgd"] = "adamw"
    lr: float = 6e-4  # the peak; the schedule scales it
    # adamw and lamb; 0.95 forgets faster than 0.999, which large batches like
    betas: tuple[float, float] = (0.9, 0.95)
    eps: float = 1e-8
    weight_decay: float = 0.1  # not on biases and norms
    grad_clip: float = 1.0  # by global norm, after the gradients of all ranks are summed; 0 is off
    momentum: float = 0.9  # sgd


@frozen
class Schedule:
    # log-warmup is DeepSpeed's WarmupDecayLR
    name: Literal["linear", "cosine", "constant", "exponential", "log-warmup"] = "linear"
    warmup_steps: int = 0
    warmup_fraction: float = 0.0  # of decay_steps, when warmup_steps is 0
    decay_steps: int = 0  # where the decay ends; 0 is train.steps
    min_lr: float = 0.0  # the floor


@frozen
class Strategy:
    # Ddp on one process is plain training
    name: Literal["ddp", "fsdp", "deepspeed", "neuron"] = "ddp"
    # fsdp; hybrid shards inside a node and replicates across
    sharding: Literal["full", "hybrid"] = "full"
    cpu_offload: bool = False  # fsdp: parameters and optimizer rest in host memory
    # Recompute blocks in the backward pass: up to a third more work, far less memory. auto: on a
    # GPU as few as its memory asks for, the next two settings with it; else none
    activation_checkpointing: Literal[True, False, "auto"] = "auto"
    recomputed_blocks: int = 0  # how many of them, evenly spread; 0 is all
    # cheap: products of matrices and attention are kept, a few per cent more work
    recompute: Literal["block", "cheap"] = "block"
    # Keep the inputs of recomputed blocks in host memory, copied while others compute
    activation_offload: bool = False
    zero_stage: Literal[1, 2, 3] = 1  # deepspeed
    # deepspeed; parameters needs stage 3
    zero_offload: Literal["none", "optimizer", "parameters"] = "none"
    bucket_size: int = 200_000_000  # deepspeed, elements per reduction


@frozen
class Fast:
    """The fast path. `auto` is decided by the device (fast.py): everything that holds on a GPU,
    nothing on a CPU. `fast: off` in place of the group leaves nothing to it."""

    mode: Literal["auto", "off"] = "auto"
    # torch.compile costs a minute at start, then gains most on GPUs
    compile: Literal["auto", "off", "blocks", "model"] = "auto"
    # Replay the step without launching kernels one by one; for one process with ddp
    cuda_graphs: Literal["auto", "on", "off"] = "auto"
    # auto: bf16 where the recipe says fp16 and the chip has it, with fp32 masters on one process
    precision: Literal["auto", "as-given"] = "auto"
    # auto: micro-batches larger than device_batch_size where the device's memory holds them
    micro_batch: Literal["auto", "as-given"] = "auto"
    # Round the vocabulary up to a multiple of this; 0 is auto: 128 suits tensor cores
    padded_vocab: int = 0
    # Head and cross-entropy in chunks, gradients at once: full logits are never held
    fused_loss: Literal["auto", "on", "off"] = "auto"
    loss_chunk: int = 16384  # tokens per chunk of the fused loss
    fused_optimizer: bool = True  # one kernel for all of AdamW
    float8: bool = False  # linear layers in float8; `precision: fp8` turns it on


@frozen
class Checkpoint:
    every: int = 1000  # steps; 0 saves at the end only
    schedule: tuple[tuple[int, int], ...] = ()  # (every, until) pairs, instead of `every`
    keep: int = 3  # newest ones to keep; 0 keeps all
    at_start: bool = False  # also before the first step
    asynchronous: bool = True  # training goes on while files are written
    verify: bool = True  # compare checksums before loading
    # also load pickles, as the libraries would: the author of such a checkpoint can run code here
    trust: bool = False
    # auto: the newest complete one here, else in the store of `upload`, if any; never; or a
    # checkpoint's folder, or the address of one or of a run's in a store, as s3://bucket/run
    resume: str = "auto"
    grace_seconds: float = 25.0  # after SIGTERM; launchers usually kill at 30
    # s3://bucket/run or gs://...: copied there in the background, marker last, and never removed
    # there; credentials come from the environment or the machine's role
    upload: str = ""


@frozen
class Log:
    every: int = 50  # steps
    first_step: bool = True  # the first loss says whether initialisation is sane
    # The guides' own lines, for their parsers
    style: Literal["plain", "fsdp", "bert", "mistral", "elastic", "cpu"] = "plain"
    tensorboard: bool = False  # the same as tensorboard in `to`
    # Where metrics go beside <output>/metrics.jsonl: event files in <output>/tensorboard; Weights &
    # Biases; MLflow (<output>/mlruns, or the server of MLFLOW_TRACKING_URI). Tokens come from the
    # environment.
    to: tuple[Literal["tensorboard", "wandb", "mlflow"], ...] = ()
    project: str = "playrunner"  # wandb's project, MLflow's experiment
    activations: bool = False  # GPT-2 attention score extremes; an extra pass on logged steps
    progress: bool = True  # a bar, when standard error is a terminal


@frozen
class Guard:
    stop_on_nan: bool = True  # exit code 6 with the step and where its batch came from
    # Skip a step whose loss exceeds this many times the recent mean; 0 is off
    spike_factor: float = 0.0
    # Steps in the recent mean; checking reads the loss every step, which a GPU feels
    spike_window: int = 50
    # What is only reported, in the log, the metrics and train.status; 0 is off
    alert_factor: float = 2.0  # a loss over this many times the recent mean
    gradient_factor: float = 10.0  # a norm over this many times the recent median
    stall_seconds: float = 20.0  # without a batch, or without progress
    slow_factor: float = 2.0  # a rank that works this many times longer than the others


@frozen
class Evaluate:
    every: int = 0  # steps; 0 is at the end only, when there is validation data
    batches: int = 10  # at most this many; 0 is all
    device_batch_size: int = 0  # 0 is the training one
    wikitext: str = ""  # a text file in wikitext form, for perplexity over sliding windows
    lambada: str = ""  # a jsonl of {"text": ...}, for the loss of each text's last word
    stride: int = 512  # of the sliding windows; smaller sees more context and takes longer


@frozen
class Train:
    steps: int = 400_000  # optimizer steps in all, resumed ones counted
    epochs: float = 0.0  # stop after this many passes, if sooner than `steps`; 0 is by steps alone
    # End well within so long, from each start of the processes: how many steps fit is said after
    # the first ones and corrected as they go on; a checkpoint after the first step and a part of
    # the evaluation show how long the end takes. 0 is by steps alone
    minutes: float = 0.0
    seed: int = 21
    batch_size: int = 512  # samples per optimizer step over all ranks; accumulation follows from it
    device_batch_size: int = 8  # samples a process holds at once
    # bf16: autocast; bf16-master: bf16 weights with fp32 master copies, the fastest on one GPU
    # fp8: as bf16, with the linear layers of GPT-2 and Llama in float8 (Hopper, Ada and later)
    precision: Literal["fp32", "bf16", "bf16-master", "fp16", "fp8"] = "fp32"
    device: Literal["auto", "cpu", "cuda"] = "auto"  # auto: a GPU when there is one
    model: Model = Model()
    distill: Distill = Distill()
    data: Data = Data()
    optimizer: Optimizer = Optimizer()
    schedule: Schedule = Schedule()
    strategy: Strategy = Strategy()
    fast: Fast = Fast()
    checkpoint: Checkpoint = Checkpoint()
    log: Log = Log()
    guard: Guard = Guard()
    evaluate: Evaluate = Evaluate()


@frozen
class Profile:
    launch: Launch = Launch()
    train: Train = Train()
    # A training program of the user's own in place of the trainer: a path in the folder `code`. It
    # gets RANK and its kin, RUN_DIR and CHECKPOINT_DIR, and SIGTERM with
    # train.checkpoint.grace_seconds to save in. `environment` beside it means launch.environment.
    script: str = ""
    # Its arguments, a list or a line; $RUN_DIR and $CHECKPOINT_DIR in them are replaced
    args: tuple[str, ...] = ()
    setup: str = ""  # a shell command in its folder, once per node and content
    # The folder that is copied to the nodes; "" is that of the profile, or of the command line.
    # What .gitignore and .playrunnerignore name stays here
    code: str = ""
