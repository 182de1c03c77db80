"""A worker of Horovod Elastic over Gloo, under horovodrun: `FOLDER`. It keeps its state in memory after each step. When another
worker is lost, it goes back to that state and continues with those that are left; a worker that starts gets the state of
one that runs."""

import sys

import horovod.torch as hvd
import torch
from torch import nn

from steps import Record, batch_of


def main():
    folder = sys.argv[1]
    torch.set_num_threads(1)
    hvd.init()
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = hvd.DistributedOptimizer(torch.optim.Adam(model.parameters(), 0.001), named_parameters=model.named_parameters())
    state = hvd.elastic.TorchState(model=model, optimizer=optimizer, step=0)

    @hvd.elastic.run
    def train(state):
        record = Record(folder, hvd.rank())
        while True:
            images, labels = (torch.from_numpy(array) for array in batch_of(state.step, hvd.rank()))
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
            state.step += 1
            record.done(state.step)
            state.commit()

    train(state)


main()
