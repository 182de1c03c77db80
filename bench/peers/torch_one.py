"""The job in one process of PyTorch with its default threads: see job.py."""

import torch
from torch import nn

import job


def main():
    images, labels = (torch.from_numpy(array.copy()) for array in job.load())
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), 0.001)
    loss_of = nn.CrossEntropyLoss()

    def run_steps(count):
        for _ in range(count):
            chosen = torch.randint(0, len(labels), (job.BATCH,))
            optimizer.zero_grad(set_to_none=True)
            loss_of(model(images[chosen].float() / 255), labels[chosen]).backward()
            optimizer.step()

    job.serve(f"PyTorch {torch.__version__}", run_steps, job.BATCH)


main()
