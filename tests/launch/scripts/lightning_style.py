"""A LightningModule and its Trainer; the lines are those of Lightning's own progress bar."""

import argparse

import pytorch_lightning as lightning
import torch
from model import Bigram
from torch import nn
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--num_nodes", type=int, default=2)
parser.add_argument("--default_root_dir", default="out")
options = parser.parse_args()


class Letters(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.model = Bigram(65)

    def training_step(self, batch, number):
        logits = self.model(batch[:, :-1])
        loss = nn.functional.cross_entropy(logits.reshape(-1, 65), batch[:, 1:].reshape(-1))
        self.log("train_loss", loss, prog_bar=True, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-1)


tokens = torch.arange(64).remainder(65)
lightning.Trainer(
    accelerator="cpu",
    devices=1,
    num_nodes=options.num_nodes,
    strategy="ddp",
    max_steps=6,
    log_every_n_steps=1,
    default_root_dir=options.default_root_dir,
).fit(Letters(), DataLoader([tokens] * 256, batch_size=4))
