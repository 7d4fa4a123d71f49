"""Models: sizes, equality with Hugging Face's, the fused loss."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from trainer.config import Distill
from trainer.models import build, initialise, parameter_count
from trainer.models.loss import head_loss
from trainer.profile import read_profile


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("gpt2-micro", 52_971_264),
        ("gpt2-small", 124_439_808),
        ("gpt2-medium", 354_823_168),
        ("gpt2-elastic", 124_439_808),
        ("llama2-7b", 6_738_415_616),
        ("llama2-13b", 13_015_864_320),
        ("llama2-70b", 68_976_648_192),
        ("bert-large", 336_226_108),
        ("mnist-mlp", 669_706),
        ("gpt2-distilled", 26_790_528),
    ],
)
def test_a_profile_s_model_has_the_published_number_of_parameters(name: str, count: int) -> None:
    train = replace(read_profile(name).train, distill=Distill())
    with torch.device("meta"):
        assert parameter_count(build(train)) == count


@pytest.mark.parametrize(
    ("name", "count"), [("7b", 6_889_410_560), ("13b", 13_204_608_000), ("70b", 69_278_638_080)]
)
def test_llama_with_the_guide_s_vocabulary_has_the_guide_s_size(name: str, count: int) -> None:
    with torch.device("meta"):
        assert (
            parameter_count(
                build(read_profile(f"llama2-{name}", ["train.model.vocab_size=50432"]).train)
            )
            == count
        )


def fresh(profile: str, *settings: str) -> Any:
    train = read_profile(profile, settings).train
    model = build(train)
    initialise(model, train.seed)
    return model.eval()


def test_fresh_weights_follow_from_the_seed_alone() -> None:
    one, same = fresh("gpt2-micro-smoke"), fresh("gpt2-micro-smoke")
    other = fresh("gpt2-micro-smoke", "train.seed=5")
    for name, value in one.state_dict().items():
        assert torch.equal(value, same.state_dict()[name])
    assert not torch.equal(one.transformer.wte.weight, other.transformer.wte.weight)


@pytest.mark.parametrize("profile", ["gpt2-micro-smoke", "gpt2-elastic-smoke", "llama2-70b-smoke"])
def test_logits_equal_hugging_face_s(profile: str) -> None:
    from trainer.export import _transformers_model

    model = fresh(profile)
    reference = _transformers_model(model.settings).eval()
    reference.load_state_dict(model.state_dict(), strict=False)
    reference.tie_weights()
    tokens = torch.randint(0, 200, (2, 32), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        torch.testing.assert_close(
            model.logits(tokens), reference(tokens).logits, atol=1e-5, rtol=1e-5
        )


def test_bert_s_loss_equals_hugging_face_s() -> None:
    from trainer.export import _transformers_model

    model = fresh("bert-large-smoke")
    reference = _transformers_model(model.settings).eval()
    reference.load_state_dict(model.state_dict(), strict=False)
    reference.tie_weights()
    dice = torch.Generator().manual_seed(1)
    tokens, segments = (
        torch.randint(0, 500, (2, 32), generator=dice),
        torch.randint(0, 2, (2, 32), generator=dice),
    )
    mask, order = torch.ones_like(tokens), torch.tensor([0, 1])
    mask[1, 20:] = 0
    labels = torch.where(torch.rand(2, 32, generator=dice) < 0.2, tokens, -100)
    wanted = reference(
        input_ids=tokens,
        token_type_ids=segments,
        attention_mask=mask,
        labels=labels,
        next_sentence_label=order,
    ).loss
    words, sentences = model(
        {"input": tokens, "segment": segments, "mask": mask, "label": labels, "next": order}
    )
    torch.testing.assert_close(words / (labels != -100).sum() + sentences / 2, wanted)


def test_the_fused_loss_and_its_gradients_equal_the_open_ones() -> None:
    dice = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 50, (37,), generator=dice)
    labels[5] = -100
    results = []
    for chunk in (0, 10):
        hidden = torch.randn(37, 8, generator=torch.Generator().manual_seed(1)).requires_grad_()
        weight = torch.randn(64, 8, generator=torch.Generator().manual_seed(2)).requires_grad_()
        loss = head_loss(hidden, weight, labels, 50, chunk)
        (loss * 0.3).backward()
        results.append((loss.detach(), hidden.grad, weight.grad))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


def test_padding_the_vocabulary_changes_no_loss() -> None:
    plain = fresh("gpt2-elastic-smoke")
    padded = fresh(
        "gpt2-elastic-smoke", "train.fast.padded_vocab=128", "train.fast.fused_loss=true"
    )
    tokens = torch.randint(0, 258, (2, 20))
    batch = {"input": tokens, "label": tokens}
    torch.testing.assert_close(plain(batch), padded(batch))
    assert padded.transformer.wte.weight.shape[0] == 384


def test_upcast_attention_scales_by_layer_and_its_extremes_are_before_the_mask() -> None:
    model = fresh("gpt2-micro-smoke", "train.model.upcast_attention=true")
    tokens = torch.randint(0, 100, (2, 16))
    found = model.attention_extremes({"input": tokens, "label": tokens})
    assert set(found) == {
        f"activations/layer{layer}_attention_weight_{end}"
        for layer in (0, 1)
        for end in ("max", "min")
    }
    # By hand for the first layer: scores of the block's own input, unmasked, over the square root
    # of the head's size.
    block = model.transformer.h[0]
    hidden = block.ln_1(model.transformer.wte(tokens) + model.transformer.wpe.weight[:16])
    query, key, _ = block.attn.c_attn(hidden).split(64, dim=2)
    scores = (
        query.view(2, 16, 2, 32).transpose(1, 2)
        @ key.view(2, 16, 2, 32).transpose(1, 2).transpose(-1, -2)
    ) / 32**0.5
    assert found["activations/layer0_attention_weight_max"] == pytest.approx(
        scores.max().item(), rel=1e-5
    )
    assert model.transformer.h[1].attn.scale == pytest.approx(model.transformer.h[0].attn.scale / 2)


def test_distillation_weighs_its_three_losses_and_trains_the_student_only() -> None:
    model = fresh("gpt2-distilled-smoke", "train.distill.alpha_mse=0.5").train()
    tokens = torch.randint(0, 200, (2, 20), generator=torch.Generator().manual_seed(3))
    labels = tokens.clone()
    labels[1, 10:] = -100
    model.eval()
    loss = model({"input": tokens, "label": labels})[0]
    got, wanted = (
        model.student.logits(tokens)[labels != -100],
        model.teacher[0].logits(tokens)[labels != -100],
    )
    kl = (
        (wanted / 2).softmax(-1) * ((wanted / 2).log_softmax(-1) - (got / 2).log_softmax(-1))
    ).sum()
    clm = torch.nn.functional.cross_entropy(got, labels[labels != -100], reduction="sum")
    mse = (got - wanted).square().mean(-1).sum()
    torch.testing.assert_close(loss, 5.0 * 4 * kl + clm + 0.5 * mse)
    assert all(name.startswith("student.") for name, _ in model.named_parameters())
