"""The bytes that processes send to each other in a step."""

import json
import re
import shutil

from figures.processes import Cluster, print_progress
from figures.ratios import Missing, figure
from figures.tables import wide_deep_job
from figures.turns import QUIET, counted, size_text

PARAMETERS = 1 << 18
STEPS = 200  # A round has at least these; a worker may be one step ahead of another.
WORKERS = 4  # That fetch rows of tables.


def sent_bytes(context, pids):
    """The bytes that these processes have sent to each other over TCP since they were connected, by connection: the kernel
    counts them."""
    if shutil.which("ss") is None:
        raise Missing("the program ss is not installed: install the package iproute2")
    found = {}
    for line in context.workspace.output_of("ss", "-tinpHO", "state", "established").splitlines():
        pid, sent = re.search(r"pid=(\d+)", line), re.search(r" bytes_sent:(\d+)", line)
        if pid and int(pid[1]) in pids:
            here, there = line.split()[2:4]
            found[here, there] = int(sent[1]) if sent else 0
    return {ends: sent for ends, sent in found.items() if (ends[1], ends[0]) in found}


def sent_in_a_step(context, cluster, role):
    """The bytes that the processes of this role send to each other in a step, all together. The cluster is paused before and
    afterwards."""
    pids = set(cluster.pids(role))
    before, first = sent_bytes(context, pids), cluster.status()["step"]
    cluster.command("resume")
    cluster.wait(f"step {first + STEPS}", lambda status: status["step"] >= first + STEPS)
    cluster.pause()
    after, last = sent_bytes(context, pids), cluster.status()["step"]
    if before.keys() != after.keys() or not before:
        raise Missing("a connection was closed or opened meanwhile")
    return sum(after[ends] - before[ends] for ends in after) / (last - first)


def mirror_bytes(context, workers):
    """Each worker has one slice. Of its gradient it sends the ranges of the other workers, and the sum of its own range to each
    of them."""
    job = {"model": {"type": "linear", "inputs": 1023, "outputs": PARAMETERS // 1024, "hidden": []},
           "data": {"type": "synthetic", "examples": 1024, "test_examples": 16},
           "train": {"batch": 2 * workers, "slices": workers, "learning_rate": 1e-6}, "metrics": {"every_steps": 1},
           "strategy": {"type": "mirror"}, "transport": {"lane": "tcp"},
           "cluster": {"coordinators": 1, "workers": workers}, **QUIET}
    cluster = Cluster(context.workspace, "mirror-bytes", job)
    cluster.wait("all workers", lambda status: all(task["slices"] for task in status["tasks"] if task["role"] == "worker"))
    cluster.pause()
    rows = []
    for number in range(context.few_rounds):
        sent = sent_in_a_step(context, cluster, "worker") / workers
        rows.append((sent / (4 * PARAMETERS), 2 * (workers - 1) / workers))
        print_progress(f"  round {number + 1} of {context.few_rounds}: {rows[-1][0]:.4f}, of {rows[-1][1]:.4f}")
    return figure("bytes that a worker sends in a step, per byte of the gradient", "lower",
                  f"{counted(workers, 'worker')} with a slice each, {size_text(4 * PARAMETERS)} of parameters, over TCP", rows,
                  f"2(N - 1) / N, N = {workers}")


def rows_sent(cluster, job):
    """Bytes of the rows that all ps send in a step, on the average of all steps, and those of the rows that are updated."""
    text = cluster.workspace.output_of(cluster.tanist, "plan", job, "-o", "json")
    widths = {table["name"]: table["width"] for table in json.loads(text)["tables"]}
    status = cluster.wait("a pause in which all ps answer", lambda status: all(ps for table in status["tables"] for ps in table["ps"]))
    found = [sum(4 * widths[table["name"]] * table[key] for table in status["tables"]) / status["step"]
             for key in ("lookups", "updates")]
    cluster.close()
    return found


def shared_rows(context, values):
    """The rows that a host gets with several workers, as one process and as several, and with one worker of several threads."""
    steps, found, updated = 100 if context.quick else 1000, [], 0
    for workers, together, threads in ((WORKERS, WORKERS, 1), (WORKERS, 1, 1), (1, 1, WORKERS)):
        job = wide_deep_job(metrics={"every_steps": 10})
        job["data"]["options"]["values"] = values
        job["cluster"].update(workers=workers, workers_per_process=together)
        job["train"]["threads"] = threads
        del job["train"]["steps"], job["train"]["decay_steps"]
        cluster = Cluster(context.workspace, f"rows-{workers}-{together}", job)
        cluster.wait(f"step {steps}", lambda status: status["step"] >= steps)
        cluster.pause()
        sent, updated = rows_sent(cluster, cluster.job)
        found.append(sent)
        print_progress(f"  {counted(workers, 'worker')}, {together} in a process, train.threads {threads}: {sent:.0f} bytes of rows in a step")
    return figure("bytes of rows that are sent in a step", "lower",
                  f"examples/ctr/wide-deep.json with {values} values, 2 ps, {WORKERS} workers in one process", [(found[0], updated, *found[1:])],
                  "each row of a step once", [f"{WORKERS} workers in {WORKERS} processes", f"1 worker with train.threads {WORKERS}"])
