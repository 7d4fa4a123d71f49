"""A run's tokenizer as transformers has it, with the end mark that the run was trained with."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from trainer.config import Profile
from trainer.data.tokenizer import Bytes, Subwords
from trainer.data.tokenizer_file import NAME, tokenizer_file
from trainer.errors import BadInput

END = "<|endoftext|>"


def tokenizer_of(profile: Profile, checkpoint: Path) -> Any:
    """As AutoTokenizer loads it, or None where the model takes no text."""
    train = profile.train
    if train.model.kind == "mlp":
        return None
    configured = Path(train.data.tokenizer)
    if (configured / "tokenizer_config.json").is_file():
        from transformers import AutoTokenizer

        try:
            given = AutoTokenizer.from_pretrained(str(configured), local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            raise BadInput(f"{configured}: no usable tokenizer: {_first(error)}") from None
        return _with_end(given, train.model.context)
    inner = _inner(profile, checkpoint)
    if inner is None or inner.get_vocab_size() > train.model.vocab_size:
        return None
    from transformers import PreTrainedTokenizerFast

    return _with_end(PreTrainedTokenizerFast(tokenizer_object=inner), train.model.context)


def end_of(profile: Profile, tokenizer: Any) -> int:
    """The number of the mark between texts."""
    if tokenizer is not None and tokenizer.eos_token_id is not None:
        return int(tokenizer.eos_token_id)
    return profile.train.model.vocab_size - 1


def _inner(profile: Profile, checkpoint: Path) -> Any:
    from tokenizers import Tokenizer

    data = profile.train.data
    if data.tokenizer == "bytes":
        stored = _beside_tokens(profile)
        return _read(stored) if stored else _bytes()
    output = checkpoint.parent.parent
    made = sorted(output.glob(f"data/train-*/{NAME}"))
    candidates = [
        checkpoint / NAME,
        tokenizer_file(profile.train, output),
        made[0] if len(made) == 1 and data.tokenizer == "trained" else None,
    ]
    for file in candidates:
        if file is not None and file.is_file():
            return _read(file)
    if data.tokenizer == "trained":
        raise BadInput(
            f"{checkpoint}: its tokenizer is not in it, nor in {output}/data; export it where it"
            " was trained"
        )
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    try:
        return Tokenizer.from_pretrained(data.tokenizer)
    except Exception as error:  # the library raises bare Exception
        raise BadInput(
            f'tokenizer "{data.tokenizer}" is no file here and the hub did not give it:'
            f" {_first(error)}"
        ) from None


def _read(file: Path) -> Any:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises bare Exception
        raise BadInput(f"{file}: no usable tokenizer: {_first(error)}") from None


def _first(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _beside_tokens(profile: Profile) -> Path | None:
    """Tokens that were made elsewhere may have their tokenizer with them."""
    data = profile.train.data
    file = Path(data.path) / NAME
    return file if data.source == "tokens" and data.path and file.is_file() else None


def _bytes() -> Any:
    """Each byte is its own number, and 256 is the end mark."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    # The library's byte alphabet: printable characters stand for themselves, the others follow 255
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [value for value in range(256) if value not in plain]
    letters = {value: chr(value) for value in plain} | {
        value: chr(256 + place) for place, value in enumerate(others)
    }
    vocabulary = {letters[value]: value for value in range(256)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(END, special=True, normalized=False)])
    assert tokenizer.token_to_id(END) == Bytes.end
    return tokenizer


def _with_end(tokenizer: Any, context: int) -> Any:
    """The mark that training put between texts ends generation, begins it and pads."""
    inner = tokenizer.backend_tokenizer
    end = Subwords(inner).end
    mark = inner.id_to_token(end)
    if mark is None:
        tokenizer.add_special_tokens({"eos_token": END})
        mark = END
    tokenizer.eos_token = mark
    if tokenizer.bos_token is None:
        tokenizer.bos_token = mark
    if tokenizer.pad_token is None:
        tokenizer.pad_token = mark
    tokenizer.model_max_length = context
    return tokenizer
