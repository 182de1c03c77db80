"""Shared by the workers of all peers: the data, and the record of the steps that a process has done.

A worker gets a folder. It appends a line `step nanoseconds` (of the monotonic clock, which all processes share) to the
file `steps-RANK-PID` there for each step, with `discarded` behind it if the step changed no parameter.
"""

import os
import time
from pathlib import Path

import numpy

BATCH = 64  # For each worker.
SAVE_EVERY = 100  # Steps between two checkpoints.


class Record:
    """The steps of this process."""

    def __init__(self, folder, rank):
        self.file = open(Path(folder) / f"steps-{rank}-{os.getpid()}", "a", encoding="utf-8", buffering=1)

    def done(self, step, discarded=False):
        self.file.write(f"{step} {time.monotonic_ns()}{' discarded' if discarded else ''}\n")


def batch_of(step, rank):
    """Inputs [BATCH][784] and labels of one step of one worker."""
    random = numpy.random.default_rng([step, rank])
    return random.random((BATCH, 784), numpy.float32), random.integers(0, 10, BATCH)


def save(path, write):
    """`write(path)` writes a file, which takes the place of the former one once it is complete."""
    write(f"{path}.new")
    os.replace(f"{path}.new", path)
