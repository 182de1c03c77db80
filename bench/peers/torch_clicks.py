"""A model of clicks with a sparse EmbeddingBag in one process of PyTorch, with its default threads: 26 embeddings of 16,
13 numbers, 32 relu, 1; SparseAdam and Adam. `SCRIPT FILE TRAIN TEST BATCH`: FILE is that of bench_clicks. Trains each
example once and prints its version, examples/s of the training, and the area under the ROC curve of the test rows."""

import sys
import time

import numpy
import torch
from torch import nn

NUMBERS, CATEGORIES, WIDTH = 13, 26, 16
ROW = numpy.dtype([("click", "<f4"), ("numbers", "<f4", NUMBERS), ("keys", "<u8", CATEGORIES)])
DEVIATION, RATE = 0.02, 0.001


def load(path):
    """Clicks, numbers, and the keys of each column as consecutive rows of one table; the number of its rows."""
    rows = numpy.fromfile(path, ROW)
    ids = numpy.empty((len(rows), CATEGORIES), numpy.int64)
    first = 0
    for column in range(CATEGORIES):
        values, ids[:, column] = numpy.unique(rows["keys"][:, column], return_inverse=True)
        ids[:, column] += first
        first += len(values)
    return [torch.from_numpy(array) for array in (rows["click"].copy(), rows["numbers"].copy(), ids)], first


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


def area_of(scores, clicks):
    """The area under the ROC curve, by the ranks of the clicks."""
    order = numpy.argsort(scores, kind="stable")
    ranks = numpy.empty(len(scores))
    ranks[order] = numpy.arange(1, len(scores) + 1)
    hits = clicks > 0
    count = hits.sum()
    return (ranks[hits].sum() - count * (count + 1) / 2) / (count * (len(clicks) - count))


def main():
    path, train, test, batch = sys.argv[1], *(int(text) for text in sys.argv[2:5])
    torch.manual_seed(1)
    (clicks, numbers, ids), rows = load(path)
    model = Clicks(rows)
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
