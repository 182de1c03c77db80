"""The data of the job and the conversation with bench/run, for all peers.

A peer is started as `SCRIPT BATCH FOLDER`, trains 784-128-10 with Adam on the IDX files in FOLDER, prints its name and
version, and then for each line with a number of seconds the examples per second of about this time. Those of TensorFlow also
train a model of clicks if FOLDER has a file of bench_clicks: for the first line, `area STEPS`, they train this number of steps and
print the area under the ROC curve.
"""

import gzip
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy

BATCH = int(sys.argv[1])
FOLDER = Path(sys.argv[2])
BLOCK = 20  # Steps between two looks at the clock.


def read_idx(name, header):
    path = FOLDER / name
    data = path.read_bytes() if path.exists() else gzip.decompress((FOLDER / f"{name}.gz").read_bytes())
    return numpy.frombuffer(data, numpy.uint8, offset=header)


def load():
    """Images as bytes [examples][784], and labels."""
    labels = read_idx("train-labels-idx1-ubyte", 8).astype(numpy.int64)
    return read_idx("train-images-idx3-ubyte", 16).reshape(len(labels), 784), labels


def serve(name, run_steps, examples_per_step, area=None):
    """`run_steps(n)` returns when n steps are done; `area()` is that after the steps so far."""
    run_steps(BLOCK)  # Compilation and allocation.
    print(name, flush=True)
    for line in sys.stdin:
        if line.startswith("area "):
            run_steps(int(line.split()[1]) - BLOCK)
            print(area(), flush=True)
            continue
        start, steps = time.monotonic(), 0
        while time.monotonic() - start < float(line):
            run_steps(BLOCK)
            steps += BLOCK
        print(steps * examples_per_step / (time.monotonic() - start), flush=True)


def free_addresses(count):
    """Addresses on this machine that no process listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return addresses


def start_again(*arguments, folder=None):
    """This script in another process, with further arguments, in `folder`; its output goes to stderr."""
    return subprocess.Popen([sys.executable, "-B", *sys.argv, *arguments], stdin=subprocess.PIPE, stdout=sys.stderr,
                            text=True, cwd=folder)
