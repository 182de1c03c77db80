"""A model of clicks with a sparse EmbeddingBag in one process of PyTorch, with its default threads: 26 embeddings of 16,
13 numbers, 32 relu, 1; SparseAdam and Adam. `SCRIPT FILE TRAIN TEST BATCH`: FILE is that of bench_clicks. Trains each
example once and prints its version, examples/s of the training, and the area under the ROC curve of the test rows."""

import sys
import time

import torch
from torch import nn

from clicks import CATEGORIES, NUMBERS, area_of, load

WIDTH, DEVIATION, RATE = 16, 0.02, 0.001


class Clicks(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.table = nn.EmbeddingBag(rows, WIDTH, mode="sum", sparse=True)
        nn.init.uniform_(self.table.weight, -DEVIATION * 3**0.5, DEVIATION * 3**0.5)
        self.dense = nn.Sequential(nn.Linear(NUMBERS + CATEGORIES * WIDTH, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, numbers, ids):
        """One bag for each category of each example."""
        rows = self.table(ids.view(-1, 1)).view(len(ids), CATEGORIES * WIDTH)
        return self.dense(torch.cat([numbers, rows], 1)).squeeze(1)


def main():
    path, train, test, batch = sys.argv[1], *(int(text) for text in sys.argv[2:5])
    torch.manual_seed(1)
    *arrays, counts = load(path)
    clicks, numbers, ids = (torch.from_numpy(array) for array in arrays)
    model = Clicks(sum(counts))
    sparse = torch.optim.SparseAdam(list(model.table.parameters()), RATE)
    dense = torch.optim.Adam(model.dense.parameters(), RATE)
    loss_of = nn.BCEWithLogitsLoss()
    start = time.monotonic()
    for first in range(0, train - batch + 1, batch):
        part = slice(first, first + batch)
        sparse.zero_grad()
        dense.zero_grad()
        loss_of(model(numbers[part], ids[part]), clicks[part]).backward()
        sparse.step()
        dense.step()
    rate = train // batch * batch / (time.monotonic() - start)
    with torch.no_grad():
        scores = model(numbers[train:train + test], ids[train:train + test]).numpy()
    print(f"PyTorch {torch.__version__}\n{rate} {area_of(scores, clicks[train:train + test].numpy())}")


main()
