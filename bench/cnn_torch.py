"""PyTorch's side of bench_cnn: for each line "BATCH REPEATS" on standard input it prints the processor
seconds of one training step (forward and backward) of the same network, on one thread."""

import sys
import time

import torch
from torch import nn


def network():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 10))


def main():
    torch.set_num_threads(1)
    print("PyTorch", torch.__version__, flush=True)
    model, loss = network(), nn.CrossEntropyLoss()
    # The faster of the two layouts on most machines.
    model = model.to(memory_format=torch.channels_last)
    for line in sys.stdin:
        batch, repeats = map(int, line.split())
        images = torch.rand(batch, 1, 28, 28).to(memory_format=torch.channels_last)
        labels = torch.randint(0, 10, (batch,))
        start = 0.0
        for repeat in range(repeats + 1):  # The first step is not measured.
            if repeat == 1:
                start = time.process_time()
            model.zero_grad(set_to_none=True)
            loss(model(images), labels).backward()
        print((time.process_time() - start) / repeats, flush=True)


main()
