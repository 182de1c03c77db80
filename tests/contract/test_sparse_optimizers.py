#!/usr/bin/env python3
"""The optimizers of table rows against the sparse optimizers of PyTorch and TensorFlow, on the same gradients.

Versions used: numpy 2.4.6, PyTorch 2.15.0, TensorFlow 2.21.0; an absent one is skipped with a notice.
TANIST_TABLE: the program of tests/contract/table.
"""

import os
import struct
import subprocess
import unittest
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import numpy
except ImportError:
    numpy = None
    print("nothing is compared: numpy is not installed (pip install numpy torch)")
try:
    import torch
except ImportError:
    torch = None
    print("PyTorch is not compared: it is not installed (pip install torch)")
try:
    import tensorflow
except ImportError:
    tensorflow = None
    print("TensorFlow is not compared: it is not installed (pip install tensorflow)")

TABLE = os.environ.get("TANIST_TABLE", str(Path(__file__).resolve().parents[2] / "build/bin/table"))
KEYS, WIDTH, STEPS, RATE = 50, 6, 150, 0.05


def gradients():
    """The ascending keys of each step, some much more frequent than others, and a row for each."""
    random = numpy.random.default_rng(1)
    for _ in range(STEPS):
        chances = 0.6 / (1 + numpy.arange(KEYS) / 8)
        keys = numpy.flatnonzero(random.random(KEYS) < chances)
        yield keys, random.normal(size=(len(keys), WIDTH)).astype(numpy.float32)


def trained(optimizer, l1=0.0, l2=0.0):
    """Initial and trained values of all keys."""
    steps = b"".join(struct.pack("<I", len(keys)) + keys.astype("<u8").tobytes() + rows.tobytes()
                     for keys, rows in gradients())
    command = [TABLE, optimizer, str(WIDTH), str(KEYS), str(RATE), str(l1), str(l2)]
    done = subprocess.run(command, input=steps, capture_output=True, timeout=120, check=True)
    return numpy.frombuffer(done.stdout, "<f4").reshape(2, KEYS, WIDTH)


def close(ours, theirs):
    numpy.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)


@unittest.skipIf(numpy is None or torch is None, "numpy and PyTorch are not both installed")
class PyTorch(unittest.TestCase):
    def compare(self, name, make):
        initial, ours = trained(name)
        rows = torch.nn.Parameter(torch.tensor(initial.copy()))
        optimizer = make([rows])
        for keys, gradient in gradients():
            rows.grad = torch.sparse_coo_tensor(keys.reshape(1, -1), gradient, (KEYS, WIDTH))
            optimizer.step()
        close(ours, rows.detach().numpy())
        self.assertGreater(abs(ours - initial).max(), 0.1)

    def test_sgd(self):
        self.compare("sgd", lambda rows: torch.optim.SGD(rows, lr=RATE))

    def test_adagrad(self):
        self.compare("adagrad", lambda rows: torch.optim.Adagrad(rows, lr=RATE, eps=1e-10))

    def test_lazy_adam(self):
        self.compare("lazy_adam", lambda rows: torch.optim.SparseAdam(rows, lr=RATE, eps=1e-10))


@unittest.skipIf(numpy is None or tensorflow is None, "numpy and TensorFlow are not both installed")
class TensorFlow(unittest.TestCase):
    def compare(self, name, state, update, **more):
        initial, ours = trained(name, **more)
        rows = tensorflow.Variable(initial)
        states = [tensorflow.Variable(tensorflow.zeros_like(rows)) for _ in range(state)]
        for keys, gradient in gradients():
            update([variable.handle for variable in [rows, *states]], gradient, keys)
        close(ours, rows.numpy())
        return ours

    def test_momentum(self):
        self.compare("momentum", 1, lambda at, gradient, keys: tensorflow.raw_ops.ResourceSparseApplyMomentum(
            var=at[0], accum=at[1], lr=RATE, grad=gradient, indices=keys, momentum=0.9))

    def test_adagrad(self):
        self.compare("adagrad", 1, lambda at, gradient, keys: tensorflow.raw_ops.ResourceSparseApplyAdagradV2(
            var=at[0], accum=at[1], lr=RATE, epsilon=1e-10, grad=gradient, indices=keys))

    def test_ftrl(self):
        """TensorFlow's l2 counts twice."""
        ours = self.compare(
            "ftrl", 2, lambda at, gradient, keys: tensorflow.raw_ops.ResourceSparseApplyFtrl(
                var=at[0], accum=at[1], linear=at[2], grad=gradient, indices=keys, lr=RATE, l1=1.0, l2=0.15,
                lr_power=-0.5), l1=1.0, l2=0.3)
        self.assertGreater((ours == 0).sum(), 5)


if __name__ == "__main__":
    unittest.main()
