"""The published loop, re-stated in PyTorch: one cell after the other, one sample after the other, one step after the other.

It makes the same calls for each sample and each step as the public script does, since these calls are its cost. `vectorised`
draws the data of a run at once instead: what is left then is the training loop.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from .pace import Contestant, repeated
from .setting import FLIP, LR, NOISE, SIGNAL, STEPS, TESTS, WIDTH, N


class PatchCNN(nn.Module):
    """Shared filters on both patches, ReLU, mean over patches, sum over the filters of a class; framework defaults."""

    def __init__(self, dim: int, width: int):
        super().__init__()
        self.width, self.filters = width, nn.Conv1d(1, 2 * width, kernel_size=dim, stride=dim)

    def forward(self, x: Tensor) -> Tensor:
        active = torch.relu(self.filters(x)).mean(dim=2)
        return torch.stack([active[:, : self.width].sum(dim=1), active[:, self.width :].sum(dim=1)], dim=1)


def one_by_one(count: int, dim: int, signal: float) -> tuple[Tensor, Tensor]:
    """Samples made in Python: sign, noise, order of the patches and flip of the label are drawn for each."""
    samples, labels = [], []
    for _ in range(count):
        direction = torch.zeros(1, dim)
        direction[0, 0] = 1
        sign = np.random.choice([-1, 1], 1)[0]
        which = torch.randint(0, 1, (1,))  # of the script's list of features, which has a single one
        noise = torch.tensor(np.random.normal(0, NOISE, size=dim))
        patches = torch.stack([direction[which][0] * signal * sign, noise])
        samples.append(patches[torch.randperm(2)].flatten())
        labels.append(np.random.choice([-1, 1], 1, p=[FLIP, 1 - FLIP])[0] * sign)
    observed = torch.tensor(np.array(labels))
    return torch.stack(samples).unsqueeze(1).float(), (observed > 0).long()


def at_once(count: int, dim: int, signal: float) -> tuple[Tensor, Tensor]:
    """The same law, drawn at once; the order of the patches is left out, since the filters are shared."""
    sign = 2 * torch.randint(0, 2, (count,)) - 1
    x = torch.zeros(count, 1, 2 * dim)
    x[:, 0, 0] = signal * sign
    x[:, 0, dim:].normal_(0, NOISE)
    flipped = torch.rand(count) < FLIP
    return x, ((sign > 0) ^ flipped).long()


def run(dim: int, signal: float = SIGNAL, vectorised: bool = False) -> float:
    """Data, training and the test error on noisy labels of one run."""
    x, label = (at_once if vectorised else one_by_one)(N + TESTS, dim, signal)
    model, loss = PatchCNN(dim, WIDTH), nn.CrossEntropyLoss()
    optimiser = torch.optim.SGD(model.parameters(), lr=LR)
    for _ in range(STEPS):
        optimiser.zero_grad()
        loss(model(x[:N]), label[:N]).backward()
        optimiser.step()
    with torch.no_grad():
        return float((model(x[N:]).argmax(dim=1) != label[N:]).float().mean())


def contestant(dim: int, vectorised: bool = False, seconds: float = 0.5) -> Contestant:
    """The loop at one dimension; `seconds` of runs make a lap."""
    name = "PyTorch, data at once" if vectorised else "PyTorch, published loop"
    few = dim >= 10_000
    run(min(dim, 100), vectorised=vectorised)  # the first run of a process starts what later ones have
    return Contestant(name, lambda: repeated(lambda: run(dim, vectorised=vectorised), seconds), most_laps=2 if few else 99)
