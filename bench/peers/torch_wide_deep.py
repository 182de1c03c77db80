"""The wide & deep model of examples/ctr in one process of PyTorch with its default threads, on the file of bench_clicks: see
job.py and clicks.py. The rows of one width are one sparse EmbeddingBag; SparseAdam and Adam."""

import json

import numpy
import torch
from torch import nn

import clicks
import job

TEST_ROWS = 10000  # At a time.


class WideDeep(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.wide = nn.EmbeddingBag(sum(rows), 1, mode="sum", sparse=True)
        self.deep = nn.EmbeddingBag(sum(rows[:clicks.CATEGORIES]), 4, mode="sum", sparse=True)
        for table in (self.wide, self.deep):
            nn.init.uniform_(table.weight, -clicks.SCALE, clicks.SCALE)
        self.hidden = nn.Sequential(nn.Linear(clicks.NUMBERS + clicks.CATEGORIES * 4, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(),
                                    nn.Linear(32, 1))
        self.linear = nn.Linear(len(rows) + clicks.NUMBERS, 1)

    def forward(self, numbers, ids):
        """One bag for each column of each example."""
        wide = self.wide(ids.reshape(-1, 1)).view(len(ids), -1)
        deep = self.deep(ids[:, :clicks.CATEGORIES].reshape(-1, 1)).view(len(ids), -1)
        return (self.linear(torch.cat([wide, numbers], 1)) + self.hidden(torch.cat([numbers, deep], 1))).squeeze(1)


def main():
    spec = json.loads((job.FOLDER / "job.json").read_text(encoding="utf-8"))
    train, examples = spec["train"], spec["data"]["examples"] // job.BATCH * job.BATCH
    torch.manual_seed(spec["seed"])
    *arrays, rows = clicks.load(job.FOLDER / clicks.NAME, clicks.CROSSES)
    labels, numbers, ids = (torch.from_numpy(array) for array in arrays)
    model = WideDeep(rows)
    tables = [model.wide.weight, model.deep.weight]
    dense = [*model.hidden.parameters(), *model.linear.parameters()]
    optimizers = [torch.optim.SparseAdam(tables, train["learning_rate"]), torch.optim.Adam(dense, train["learning_rate"])]
    loss_of, done = nn.BCEWithLogitsLoss(), 0

    def run_steps(count):
        nonlocal done
        for _ in range(count):
            part = slice(done * job.BATCH % examples, done * job.BATCH % examples + job.BATCH)
            for optimizer in optimizers:
                optimizer.zero_grad()
                optimizer.param_groups[0]["lr"] = train["learning_rate"] * max(0, 1 - done / train["decay_steps"])
            loss_of(model(numbers[part], ids[part]), labels[part]).backward()
            for optimizer in optimizers:
                optimizer.step()
            done += 1

    def area():
        """The area under the ROC curve of the test rows."""
        with torch.no_grad():
            found = [model(numbers[first:first + TEST_ROWS], ids[first:first + TEST_ROWS]).numpy()
                     for first in range(spec["data"]["examples"], len(labels), TEST_ROWS)]
        return clicks.area_of(numpy.concatenate(found), arrays[0][spec["data"]["examples"]:])

    job.serve(f"PyTorch {torch.__version__}", run_steps, job.BATCH, area)


main()
