from torch import Tensor, nn


class Bigram(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.table = nn.Embedding(size, size)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.table(tokens)
