#!/usr/bin/env python3
"""The networks of scripts/gpu-campaign by PyTorch on a GPU, in float32 without TF32: prints a line of JSON for each, with
the examples per second of training steps with Adam.

    bench/gpu_torch.py [--small]

Exit code 77: PyTorch is not installed, or sees no GPU.
"""

import json
import sys
import time

STEPS, WARM_UP = 100, 20


def networks(torch):
    """Name, model, shape of the inputs of a batch."""
    nn = torch.nn
    cnn = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
                        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 10))

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.positions = nn.Parameter(torch.zeros(64, 128))
            self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(128, 4, 512, 0.0, "gelu", batch_first=True, norm_first=True)
                                        for _ in range(2))
            self.norm, self.last = nn.LayerNorm(128), nn.Linear(64 * 128, 10)
            self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(64))

        def forward(self, x):
            x = x + self.positions
            for block in self.blocks:
                x = block(x, src_mask=self.mask, is_causal=True)
            return self.last(self.norm(x).flatten(1))

    mlp = nn.Sequential(nn.Linear(784, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 10))
    return (("cnn", cnn, (512, 1, 28, 28)), ("transformer", Transformer(), (64, 64, 128)), ("wide mlp", mlp, (512, 784)))


def examples_per_second(torch, model, shape, steps, warm_up):
    model = model.cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    x = torch.randn(shape, device="cuda")
    labels = torch.randint(0, 10, shape[:1], device="cuda")
    begun = 0.0
    for step in range(warm_up + steps):
        if step == warm_up:
            torch.cuda.synchronize()
            begun = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), labels).backward()
        optimizer.step()
    torch.cuda.synchronize()
    return steps * shape[0] / (time.perf_counter() - begun)


def main():
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed")
        return 77
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        return 77
    steps, warm_up = (2, 1) if "--small" in sys.argv else (STEPS, WARM_UP)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    for name, model, shape in networks(torch):
        print(json.dumps({"name": name, "value": examples_per_second(torch, model, shape, steps, warm_up)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
