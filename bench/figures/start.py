"""How long a cluster takes to start, and how many threads its processes have."""

import os
import time

from figures.processes import DAY_S, Cluster, print_progress
from figures.ratios import figure


def null_job(workers):
    return {"model": {"type": "linear", "inputs": 1, "outputs": 1, "hidden": []},
            "data": {"type": "synthetic", "examples": 1024, "test_examples": 16},
            "train": {"batch": workers, "slices": workers, "learning_rate": 0.001},
            "metrics": {"every_steps": 1}, "evaluate": {"every_steps": 0}, "checkpoint": {"every_seconds": 0},
            "cluster": {"coordinators": 1, "ps": 1, "workers": workers, "min_workers": workers}}


def first_step_ms(context, workers):
    """From the start of `tanist run`, with a ZooKeeper ensemble, to the end of the first step of all workers."""
    began = time.time()
    cluster = Cluster(context.workspace, f"start-{workers}", null_job(workers))
    points = [(0, None)]
    while points[-1][0] == 0:
        points += cluster.wait_point()
    ended = next(when for step, when in points if step > 0)
    cluster.close()
    return 1000 * ((ended - began) % DAY_S)


def start_many(context, workers):
    rows = []
    for number in range(context.few_rounds):
        rows.append((first_step_ms(context, workers), first_step_ms(context, 1)))
        print_progress(f"  round {number + 1} of {context.few_rounds}: {rows[-1][0]:.0f} ms, one worker {rows[-1][1]:.0f} ms")
    return figure("ms", "lower", f"3 ZooKeeper servers, 1 ps, {workers} workers", rows, "the same job with one worker")


def threads(context, role):
    cluster = Cluster(context.workspace, "threads", null_job(2))
    rows = [(len(os.listdir(f"/proc/{pid}/task")), None) for pid in cluster.pids(role)]
    return figure("threads", "lower", f"a {role} on a machine with {os.cpu_count()} processors", rows, None)
