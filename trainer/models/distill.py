"""A student and its teacher: alpha_ce * T^2 * KL(teacher to student) + alpha_clm * cross-entropy +
alpha_mse * MSE."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from trainer.config import Train
from trainer.models.loss import IGNORED
from trainer.models.packing import packed_of


class Distilled(nn.Module):
    normalisers = ("tokens",)

    def __init__(self, student: Any, train: Train) -> None:
        super().__init__()
        self.student, self.settings, self.distill = student, train.model, train.distill
        # In a list, so that the teacher is no submodule: it is neither trained, sharded nor saved.
        self.teacher: list[nn.Module] = []
        self.train_settings = train
        self.real_rows = {f"student.{name}": rows for name, rows in student.real_rows.items()}

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        kept = batch["label"] != IGNORED
        labels = batch["label"][kept]
        # No flex attention: the teacher is not compiled
        tokens, packed = batch["input"], packed_of(batch, flex=False)
        with torch.no_grad():
            wanted = self._teacher(tokens.device).logits(tokens, packed)[kept].float()
        got = self.student.logits(tokens, packed)[kept].float()
        distill, heat = self.distill, self.distill.temperature
        loss = distill.alpha_clm * functional.cross_entropy(got, labels, reduction="sum")
        if distill.alpha_ce:
            agreement = functional.kl_div(
                (got / heat).log_softmax(-1), (wanted / heat).softmax(-1), reduction="sum"
            )
            loss = loss + distill.alpha_ce * heat * heat * agreement
        if distill.alpha_mse:
            loss = (
                loss
                + distill.alpha_mse
                * functional.mse_loss(got, wanted, reduction="none").mean(-1).sum()
            )
        return loss.reshape(1)

    def _teacher(self, device: torch.device) -> Any:
        if not self.teacher:
            # Making it draws random numbers, which must not shift those of the student's dropout.
            with torch.random.fork_rng(devices=[]):
                self.teacher.append(
                    _load_teacher(self.train_settings).to(device).eval().requires_grad_(False)
                )
        return self.teacher[0]

    def logits(self, tokens: Tensor) -> Tensor:
        return self.student.logits(tokens)  # type: ignore[no-any-return]

    def blocks(self) -> Iterator[tuple[nn.Module, str, nn.Module]]:
        return self.student.blocks()  # type: ignore[no-any-return]

    def fresh(self, name: str, shape: torch.Size) -> tuple[str, float]:
        return self.student.fresh(name.removeprefix("student."), shape)  # type: ignore[no-any-return]


def _load_teacher(train: Train) -> Any:
    from trainer.models import _family, initialise
    from trainer.models.pretrained import load_folder, shape_of_folder

    distill = train.distill
    if distill.teacher == "fresh":
        shape = replace(
            train.model,
            layers=distill.teacher_layers,
            heads=distill.teacher_heads,
            width=distill.teacher_width,
        )
        teacher = _family(replace(train, model=shape))
        initialise(teacher, train.seed)
        return teacher
    teacher = _family(replace(train, model=shape_of_folder(distill.teacher, train.model)))
    load_folder(teacher, distill.teacher)
    return teacher
