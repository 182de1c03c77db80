"""How long a cluster takes to start, and how many threads its processes have."""

import os
import time

from figures.processes import Cluster, print_progress
from figures.ratios import figure
from figures.turns import counted

MANY = 16


def null_job(workers, together=1):
    return {"model": {"type": "linear", "inputs": 1, "outputs": 1, "hidden": []},
            "data": {"type": "synthetic", "examples": 1024, "test_examples": 16},
            "train": {"batch": workers, "slices": workers, "learning_rate": 0.001},
            "metrics": {"every_steps": 1}, "evaluate": {"every_steps": 0}, "checkpoint": {"every_seconds": 0},
            "cluster": {"coordinators": 1, "ps": 1, "workers": workers, "min_workers": workers,
                        "workers_per_process": together}}


def first_step_ms(context, workers, together=1):
    """From the start of `tanist run`, with a ZooKeeper ensemble, to the end of the first step of all workers."""
    began = time.time()
    cluster = Cluster(context.workspace, f"start-{workers}-{together}", null_job(workers, together))
    points = [(0, None)]
    while points[-1][0] == 0:
        points += cluster.wait_point()
    ended = next(when for step, when in points if step > 0)
    cluster.close()
    return 1000 * (ended - began)


def start_many(context, workers):
    rows = []
    for number in range(context.few_rounds):
        rows.append((first_step_ms(context, workers), first_step_ms(context, 1), first_step_ms(context, workers, MANY)))
        print_progress(f"  round {number + 1} of {context.few_rounds}: " + " ".join(f"{value:.0f} ms" for value in rows[-1]))
    return figure("ms", "lower", f"3 ZooKeeper servers, 1 ps, {workers} workers", rows, "the same job with one worker",
                  [f"{MANY} workers in each process"])


def threads(context, role, together=1):
    cluster = Cluster(context.workspace, "threads", null_job(max(2, together), together))
    rows = [(len(os.listdir(f"/proc/{pid}/task")), None) for pid in sorted(set(cluster.pids(role)))]
    return figure("threads", "lower", f"a process with {counted(together, role)}, {os.cpu_count()} processors", rows, None)
