"""The job in two processes of PyTorch that add their gradients (DistributedDataParallel over Gloo), each with half of the
batch and half of the cores: see job.py. The second process is this script with the address as third argument."""

import os
import sys

import torch
from torch import distributed, nn

import job


def train(rank, address, second):
    """The first process serves; it writes to the second how many steps to do."""
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // 2))
    distributed.init_process_group("gloo", init_method=f"tcp://{address}", rank=rank, world_size=2)
    torch.manual_seed(rank)
    images, labels = (torch.from_numpy(array.copy()) for array in job.load())
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)))
    optimizer = torch.optim.Adam(model.parameters(), 0.001)
    loss_of = nn.CrossEntropyLoss()

    def run_steps(count):
        if second is not None:
            second.stdin.write(f"{count}\n")
            second.stdin.flush()
        for _ in range(count):
            chosen = torch.randint(0, len(labels), (job.BATCH // 2,))
            optimizer.zero_grad(set_to_none=True)
            loss_of(model(images[chosen].float() / 255), labels[chosen]).backward()
            optimizer.step()

    if second is not None:
        job.serve(f"PyTorch {torch.__version__}", run_steps, job.BATCH)
        return
    for line in sys.stdin:
        run_steps(int(line))


def main():
    if len(sys.argv) > 3:
        train(1, sys.argv[3], None)
        return
    [address] = job.free_addresses(1)
    second = job.start_again(address)
    try:
        train(0, address, second)
    finally:
        second.kill()
        second.wait()


main()
