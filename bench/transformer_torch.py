"""PyTorch's side of bench_transformer: for each line "BATCH REPEATS" on standard input it prints the processor
seconds of one training step (forward and backward) of the same network, on one thread."""

import sys
import time

import torch
from torch import nn

TIME, WIDTH, HEADS, INNER, BLOCKS, VOCABULARY = 64, 128, 4, 512, 2, 128


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.inner = nn.Sequential(nn.Linear(WIDTH, INNER), nn.GELU(approximate="tanh"), nn.Linear(INNER, WIDTH))

    def forward(self, x):
        heads = [part.unflatten(2, (HEADS, -1)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=2)]
        mixed = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.inner(self.norm2(x))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.rand(TIME, WIDTH) / 10)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY))

    def forward(self, ids):
        return self.head(self.blocks(self.rows(ids) + self.positions))


def main():
    torch.set_num_threads(1)
    print("PyTorch", torch.__version__, flush=True)
    model, loss = Network(), nn.CrossEntropyLoss()
    for line in sys.stdin:
        batch, repeats = map(int, line.split())
        ids, following = torch.randint(0, VOCABULARY, (2, batch, TIME))
        start = 0.0
        for repeat in range(repeats + 1):  # The first step is not measured.
            if repeat == 1:
                start = time.process_time()
            model.zero_grad(set_to_none=True)
            loss(model(ids).flatten(0, 1), following.flatten()).backward()
        print((time.process_time() - start) / repeats, flush=True)


main()
