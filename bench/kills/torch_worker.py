"""A worker of PyTorch's DistributedDataParallel over Gloo, under torchrun: `FOLDER`. torchrun starts all workers again
when one is lost; they continue from the checkpoint."""

import os
import sys

import torch
from torch import distributed, nn

from steps import SAVE_EVERY, Record, batch_of, save


def main():
    folder = sys.argv[1]
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)))
    optimizer = torch.optim.Adam(model.parameters(), 0.001)
    path, number = f"{folder}/checkpoint", 0
    if os.path.exists(path):
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        number = saved["step"]
    record = Record(folder, rank)
    while True:
        images, labels = (torch.from_numpy(array) for array in batch_of(number, rank))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        number += 1
        record.done(number)
        if rank == 0 and number % SAVE_EVERY == 0:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": number}
            save(path, lambda name, state=state: torch.save(state, name))


main()
