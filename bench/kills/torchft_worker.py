"""A replica of torchft: `FOLDER RANK`, with the address of the lighthouse in TORCHFT_LIGHTHOUSE. A replica that starts
again gets the parameters from one that runs."""

import sys
from datetime import timedelta

import torch
import torchft
from torch import distributed, nn

from steps import Record, batch_of

TIMEOUT = timedelta(seconds=10)  # For a collective operation; the default is 60 s.


def main():
    folder, rank = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    store = distributed.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    inner = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    plain = torch.optim.Adam(inner.parameters(), 0.001)

    def load(saved):
        inner.load_state_dict(saved["model"])
        plain.load_state_dict(saved["optimizer"])

    manager = torchft.Manager(
        pg=torchft.ProcessGroupGloo(timeout=TIMEOUT), load_state_dict=load,
        state_dict=lambda: {"model": inner.state_dict(), "optimizer": plain.state_dict()},
        min_replica_size=1, timeout=TIMEOUT, quorum_timeout=TIMEOUT, connect_timeout=TIMEOUT,
        rank=0, world_size=1, store_addr="localhost", store_port=store.port, replica_id=f"replica{rank}")
    model = torchft.DistributedDataParallel(manager, inner)
    optimizer = torchft.Optimizer(manager, plain)
    record = Record(folder, rank)
    while True:
        before = manager.current_step()
        images, labels = (torch.from_numpy(array) for array in batch_of(before, rank))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        record.done(manager.current_step(), discarded=manager.current_step() == before)


main()
