"""The figures of bench/run: a function for each kind, and the names. Those of tables are in tables.py."""

import json
import os
import signal
import statistics
import time
from datetime import datetime
from pathlib import Path

from figures import deltas, tables, traffic
from figures.processes import Cluster, OneProcess, Server, print_progress, read_files_ms, steps_per_second
from figures.ratios import Missing, figure
from figures.start import start_many, threads
from figures.turns import (OVER_TCP, QUIET, Scaled, Turn, counted, in_turns, lines_of_rounds, over_tcp, programs_in_turns, size_text,
                           start_peers)

FASHION = "/usr/share/datasets/fashion-mnist"
PEERS = (("tensorflow_ps.py", "TensorFlow, parameter servers"), ("tensorflow_all_reduce.py", "TensorFlow, all-reduce"),
         ("tensorflow_one.py", "TensorFlow, one process"), ("torch_one.py", "PyTorch, one process"))
MIRROR_PEERS = (("tensorflow_all_reduce.py", "TensorFlow, MultiWorkerMirroredStrategy"),
                ("torch_ddp.py", "PyTorch, DistributedDataParallel over Gloo"))
CNN = [{"conv2d": {"filters": 32, "activation": "relu"}}, {"max_pool": 2},
       {"conv2d": {"filters": 64, "activation": "relu"}}, {"max_pool": 2}, "flatten",
       {"dense": {"units": 128, "activation": "relu"}}, {"dense": 10}]
ARRAYS_OF_ADAM = 3


def exchange(context, count):
    text = context.workspace.output_of(context.workspace.program("bench_transport"), str(context.rounds), str(count))
    return figure("GB/s", "higher", f"{size_text(count)} both ways", lines_of_rounds(text), "raw TCP on the loopback",
                  ["the transport over TCP"])


def apply_16m(context):
    parameters = (4 if context.quick else 16) << 20
    text = context.workspace.output_of(context.workspace.program("bench_apply"), str(context.rounds), str(parameters))
    return figure("million parameters/s", "higher", f"{parameters} parameters, 8 slices, Adam", lines_of_rounds(text),
                  "one fused pass over memory")


def null_step(context, workers):
    every = 100 if workers <= 8 else 10
    job = {"model": {"type": "linear", "inputs": 1, "outputs": 1, "hidden": []},
           "data": {"type": "synthetic", "examples": 1024, "test_examples": 16},
           "train": {"batch": workers, "slices": workers, "learning_rate": 0.001},
           "metrics": {"every_steps": every}, "cluster": {"coordinators": 1, "ps": 1, "workers": workers}, **QUIET}
    program = context.workspace.program("bench_barrier")
    cluster = Cluster(context.workspace, "null", job)
    servers = [Server(context.workspace, program, kind, str(workers)) for kind in ("futex", "tcp")]
    rows = in_turns(context, cluster, servers + [over_tcp(context, dict(job, name="null-tcp"))])
    return figure("steps/s", "higher", f"1 ps, {counted(workers, 'worker')}, 2 parameters", rows, "a futex barrier of threads",
                  ["a barrier over raw TCP", OVER_TCP])


def require_fashion():
    if not Path(FASHION).is_dir():
        raise Missing(f"{FASHION} does not exist: install the package dataset-fashion-mnist")


def classifier(context, model, batch, peers):
    require_fashion()
    job = {"model": dict({"inputs": 784, "outputs": 10}, **model), "data": {"type": "idx", "path": FASHION},
           "train": {"batch": batch, "slices": 8, "optimizer": "adam", "learning_rate": 0.001},
           "metrics": {"every_steps": 1 if model["type"] == "layers" or batch > 512 else 10},
           "cluster": {"coordinators": 1, "ps": 2, "workers": 2, "bind": True}, **QUIET}
    program, path = context.workspace.program("bench_plain"), context.workspace.job("plain", job)
    cluster = Cluster(context.workspace, "classifier", job)
    plain = [Server(context.workspace, program, path, str(batch), threads) for threads in ("1", "2")]
    unbound = dict(job, name="classifier-unbound", cluster=dict(job["cluster"], bind=False))
    others = [(Turn(context, unbound, batch), "the same cluster without cluster.bind"),
              (over_tcp(context, dict(job, name="classifier-tcp"), batch), OVER_TCP)]
    others += start_peers(context, PEERS, str(batch), FASHION) if peers and context.peers_python else []
    rows = in_turns(context, cluster, plain + [server for server, _ in others], factor=batch)
    rows = [(row[0], max(row[1:3]), *row[1:]) for row in rows]
    return figure("examples/s", "higher", f"2 ps, 2 workers, cluster.bind, batch {batch}", rows, "the faster plain C program",
                  ["plain C, 1 thread", "plain C, 2 threads"] + [name for _, name in others])


def cluster_figure(context, batch):
    return classifier(context, {"type": "mlp", "hidden": [128]}, batch, True)


def local(context, batch):
    """One process with a thread for each processor."""
    require_fashion()
    job = {"model": {"type": "mlp", "inputs": 784, "hidden": [128], "outputs": 10}, "data": {"type": "idx", "path": FASHION},
           "train": {"batch": batch, "slices": 8, "optimizer": "adam", "learning_rate": 0.001},
           "metrics": {"every_steps": 1 if batch > 512 else 10}, **QUIET}
    program, path = context.workspace.program("bench_plain"), context.workspace.job("plain", job)
    one_thread = dict(job, train=dict(job["train"], threads=1))
    all_threads, one = (Scaled(OneProcess(context.workspace, name, each), batch)
                        for name, each in (("threads", job), ("thread", one_thread)))
    plain = [Server(context.workspace, program, path, str(batch), threads) for threads in ("2", "1")]
    rows = programs_in_turns(context, [all_threads, *plain[:1], one, *plain[1:]])
    return figure("examples/s", "higher", f"tanist run --local, a thread for each processor, batch {batch}", rows,
                  "plain C, 2 threads", ["the same with train.threads 1", "plain C, 1 thread"])


def cnn(context):
    return classifier(context, {"type": "layers", "shape": [28, 28, 1], "layers": CNN}, 512, False)


def mirror(context, batch):
    """Without ps, beside other programs that add gradients of two processes."""
    require_fashion()
    job = {"model": {"type": "mlp", "inputs": 784, "hidden": [128], "outputs": 10}, "data": {"type": "idx", "path": FASHION},
           "train": {"batch": batch, "slices": 8, "optimizer": "adam", "learning_rate": 0.001},
           "metrics": {"every_steps": 1 if batch > 512 else 10}, "strategy": {"type": "mirror"},
           "cluster": {"coordinators": 1, "workers": 2}, **QUIET}
    path = context.workspace.job("plain", {key: job[key] for key in job if key != "strategy"})
    cluster = Cluster(context.workspace, "mirror", job)
    with_ps = dict(job, name="with-ps", strategy={"type": "ps"}, cluster=dict(job["cluster"], ps=2))
    plain = Server(context.workspace, context.workspace.program("bench_plain"), path, str(batch), "2")
    peers = start_peers(context, MIRROR_PEERS, str(batch), FASHION)
    others = [Turn(context, with_ps)] + [Scaled(server, 1 / batch) for server, _ in peers]
    rows = in_turns(context, cluster, [Scaled(plain, 1 / batch)] + others)
    return figure("steps/s", "higher", f"2 workers, batch {batch}", rows, "plain C, 2 threads",
                  ["the same job with 2 ps"] + [name for _, name in peers])


def large_job(context, every_seconds, **train):
    """A linear model of the context's size, so that nearly all work is that of parameters."""
    outputs = context.model_bytes // 4 // 1024
    return {"model": {"type": "linear", "inputs": 1023, "outputs": outputs, "hidden": []},
            "data": {"type": "synthetic", "examples": 32, "test_examples": 8},
            "train": dict({"batch": 2, "slices": 2, "optimizer": "adam", "learning_rate": 1e-6}, **train),
            "metrics": {"every_steps": 1}, "cluster": {"coordinators": 1, "ps": 2, "workers": 1},
            **dict(QUIET, checkpoint={"every_seconds": every_seconds})}


def require_memory(context):
    """A cluster of the large job takes about 14 times the model, and its checkpoints on the disk."""
    needed = 16 * context.model_bytes
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
    available = int(lines["MemAvailable"].split()[0]) << 10
    if available < needed:
        raise Missing(f"{size_text(needed)} of memory are needed, {size_text(available)} are available")
    disk = os.statvfs(context.workspace.folder)
    if disk.f_bavail * disk.f_frsize < needed:
        raise Missing(f"{size_text(needed)} of disk are needed in {context.workspace.folder}; give another --folder")


def large_size(context):
    return f"{size_text(context.model_bytes)} of parameters, Adam, 2 ps, 1 worker"


def checkpoint_slowdown(context):
    require_memory(context)
    interval, window = (2, 6) if context.quick else (10, 40)
    written = ARRAYS_OF_ADAM * (context.model_bytes >> 20) / interval
    rows, longest = [], []
    for number in range(context.few_rounds):
        saving = slow_points(context, interval, window)
        alone = slow_points(context, 0, window)
        beside = slow_points(context, 0, window, str(written))
        rows.append(tuple(steps_per_second(points) for points in (saving, alone, beside)))
        steps = sorted(step_times(alone))
        longest.append(max(step_times(saving)) / steps[min(len(steps) - 1, 99 * len(steps) // 100)])
        print_progress(f"  round {number + 1} of {context.few_rounds}: " + " ".join(f"{rate:.4g}" for rate in rows[-1]) +
                       f" steps/s, the longest step with checkpoints: {longest[-1]:.3g} times the p99 without")
    found = figure("steps/s", "higher", f"{large_size(context)}, a checkpoint each {interval} s", rows,
                   "the same without checkpoints", ["without checkpoints, while another program copies and writes as many bytes"])
    return dict(found, longest_step_per_p99=statistics.median(longest))


def slow_points(context, checkpoint_s, window_s, written=None):
    """The points of the large job's curves. `written`: the MiB/s that a program beside it writes to the same disk."""
    cluster = Cluster(context.workspace, "checkpoints", large_job(context, checkpoint_s))
    file = context.workspace.folder / "written"
    writer = context.workspace.begin("bench_writer", str(file), written) if written else None
    try:
        points = cluster.points(window_s)
        if writer and writer.poll() is not None:
            raise Missing(f"bench_writer ended with {writer.returncode}")
    finally:
        if writer:
            writer.kill()
            writer.wait()
        file.unlink(missing_ok=True)
        cluster.close()
    return points


def step_times(points):
    """The duration of a step between each two points, in seconds."""
    return [(later[1] - earlier[1]) / (later[0] - earlier[0]) for earlier, later in zip(points, points[1:])
            if later[0] > earlier[0]]


def checkpoint_load(context):
    """Each round has both from the disk, then both from the page cache."""
    mebibytes = context.model_bytes >> 20
    lines = lines_of_rounds(context.workspace.output_of(context.workspace.program("bench_load"), str(context.workspace.folder),
                                                        str(mebibytes), str(context.rounds), "run"))
    found = figure("GB/s", "higher", f"{size_text(context.model_bytes)} from the disk", [line[:2] for line in lines],
                   "read() of the same file")
    return dict(found, cached_ratio=statistics.median(line[2] / line[3] for line in lines))


def seconds_after(moment, points):
    """From `moment` to each later point of the curves. Points of steps that ended before may be written after it."""
    return [when - moment for _, when in points if when >= moment]


def restart_warm_once(context, cluster):
    """From SIGKILL of a ps to the end of the second step: the first may end without that ps, which has sent its values."""
    limit = 2000 / cluster.rate(context.window_s)
    before = cluster.wait("a step", lambda status: status["phase"] == "running")
    cluster.new_points()
    killed = time.time()
    os.kill(next(task["pid"] for task in before["tasks"] if task["role"] == "ps"), signal.SIGKILL)
    ended = []
    while len(ended) < 2:
        ended += seconds_after(killed, cluster.wait_point())
    value = 1000 * ended[1]
    status = cluster.wait("all tasks", lambda status: all(task["pid"] for task in status["tasks"]))
    if status["generation"] != before["generation"]:
        raise Missing("the ps had lost its values: a checkpoint was loaded")
    return value, limit


def restart_warm(context):
    require_memory(context)
    cluster = Cluster(context.workspace, "restart", large_job(context, 0))
    rows = []
    for number in range(context.few_rounds):
        rows.append(restart_warm_once(context, cluster))
        print_progress(f"  round {number + 1} of {context.few_rounds}: {rows[-1][0]:.0f} ms, two steps {rows[-1][1]:.0f} ms")
    return figure("ms", "lower", large_size(context), rows, "two steps without a failure")


def restart_once(cluster):
    """From SIGKILL of a ps to the first step behind the checkpoint that all ps then load."""
    before = cluster.wait("a checkpoint", lambda status: status["phase"] == "running" and status["checkpoint"]["id"] > 0)
    limit = read_files_ms(cluster.folder / "checkpoints" / f"{before['checkpoint']['id']:010}")
    victim = next(task["pid"] for task in before["tasks"] if task["role"] == "ps")
    start = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    cluster.wait("a new step", lambda status: status["generation"] > before["generation"] and
                 status["phase"] == "running" and status["step"] > status["checkpoint"]["step"], pause_s=0)
    return 1000 * (time.monotonic() - start), limit


def restart_cold(context):
    require_memory(context)
    # With this key a ps keeps no memory over its death. The norm is far below.
    cluster = Cluster(context.workspace, "restart", large_job(context, 5, clip_norm=1e30))
    rows = []
    for number in range(context.few_rounds):
        rows.append(restart_once(cluster))
        print_progress(f"  round {number + 1} of {context.few_rounds}: {rows[-1][0]:.0f} ms, reading {rows[-1][1]:.0f} ms")
    return figure("ms", "lower", large_size(context), rows, "reading the checkpoint with read()")


def resident(pid):
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS"))


def memory(context, role, unit, arrays, limit_name):
    """At less than 128 MiB, the program itself would count."""
    context.model_bytes = max(context.model_bytes, 128 << 20)
    require_memory(context)
    cluster = Cluster(context.workspace, "memory", large_job(context, 0))
    cluster.wait("step 10", lambda status: status["step"] >= 10)
    share = context.model_bytes / (2 if role == "ps" else 1)
    rows = [(resident(pid) / share, arrays) for pid in cluster.pids(role)]
    plan = json.loads(cluster.workspace.output_of(cluster.tanist, "plan", cluster.job, "-o", "json"))
    predicted = (plan["shards"][0] if role == "ps" else plan["memory"])["memory" if role == "ps" else role]["total"]
    return dict(figure(unit, "lower", large_size(context), rows, limit_name), predicted=predicted / share)


def memory_of_ps(context):
    return memory(context, "ps", "resident bytes per byte of the shard", ARRAYS_OF_ADAM + 1,
                  "values, optimizer state, one more copy of the values")


def memory_of_worker(context):
    return memory(context, "worker", "resident bytes per byte of the model", 2.2, "values, gradient, a tenth of both")


def memory_of_replica(context):
    """A worker without ps, with frames over TCP: lanes have memory of their own. A worker that has received the values of another one
    keeps the memory of its former values for later."""
    context.model_bytes = min(max(context.model_bytes, 128 << 20), 256 << 20)
    require_memory(context)
    job = dict(large_job(context, 0), strategy={"type": "mirror"}, transport={"lane": "tcp"}, cluster={"coordinators": 1, "workers": 2})
    cluster = Cluster(context.workspace, "replicas", job)
    cluster.wait("step 40", lambda status: status["step"] >= 40)
    count = context.model_bytes // 4
    logs = [path.read_text(encoding="utf-8") for path in (cluster.folder / "logs").glob("worker-*.log")]
    sent = sum(text.count("sending the values of step") for text in logs)
    rows = [(resident(pid) / count, 32) for pid in cluster.pids("worker")]
    plan = json.loads(cluster.workspace.output_of(cluster.tanist, "plan", cluster.job, "-o", "json"))
    found = figure("resident bytes per parameter", "lower", f"{size_text(context.model_bytes)} of parameters, Adam, 2 workers without ps, over TCP; "
                   f"one has sent its values to the other {sent} times", rows, "values, state, gradient, sum, a kept sum, pushes of two steps")
    return dict(found, predicted=plan["memory"]["worker"]["total"] / count)


def failover(context):
    job = {"model": {"type": "linear", "inputs": 8, "outputs": 1, "hidden": []}, "data": {"type": "synthetic"},
           "train": {"batch": 32, "slices": 4, "learning_rate": 0.001}, "cluster": {"coordinators": 2, "ps": 1, "workers": 1},
           "evaluate": {"every_steps": 0}, "checkpoint": {"every_seconds": 10}, "zookeeper": {"servers": 3}}
    cluster = Cluster(context.workspace, "failover", job)
    rows = []
    for _ in range(context.rounds):
        before = cluster.wait("two coordinators", lambda status: status["chief"] and all(
            task["pid"] and task["state"] in ("chief", "candidate") for task in status["tasks"]
            if task["role"] == "coordinator"))
        killed = time.time()
        os.kill(before["chief"]["pid"], signal.SIGKILL)
        after = cluster.wait("another chief", lambda status, epoch=before["epoch"]:
                             status["epoch"] > epoch and status["chief"])
        since = datetime.fromisoformat(after["chief"]["since"].replace("Z", "+00:00")).timestamp()
        rows.append((1000 * (since - killed), None))
    return figure("ms", "lower", "3 ZooKeeper servers, 2 coordinators", rows, None)


FIGURES = {
    "exchange_4KiB": lambda context: exchange(context, 4 << 10),
    "exchange_256KiB": lambda context: exchange(context, 256 << 10),
    "exchange_64MiB": lambda context: exchange(context, 64 << 20),
    "null_step_w1": lambda context: null_step(context, 1),
    "null_step_w2": lambda context: null_step(context, 2),
    "null_step_w8": lambda context: null_step(context, 8),
    "null_step_w32": lambda context: null_step(context, 32),
    "apply_16M": apply_16m,
    "cluster_b64": lambda context: cluster_figure(context, 64),
    "cluster_b512": lambda context: cluster_figure(context, 512),
    "cluster_b4096": lambda context: cluster_figure(context, 4096),
    "local_b64": lambda context: local(context, 64),
    "local_b512": lambda context: local(context, 512),
    "local_b4096": lambda context: local(context, 4096),
    "cnn_b512": cnn,
    "mirror_b64": lambda context: mirror(context, 64),
    "mirror_b512": lambda context: mirror(context, 512),
    "mirror_bytes_w2": lambda context: traffic.mirror_bytes(context, 2),
    "mirror_bytes_w3": lambda context: traffic.mirror_bytes(context, 3),
    "mirror_bytes_w5": lambda context: traffic.mirror_bytes(context, 5),
    "mirror_bytes_w8": lambda context: traffic.mirror_bytes(context, 8),
    "mirror_memory": memory_of_replica,
    "table_lookup": lambda context: tables.table_rates(context, "lookup"),
    "table_apply": lambda context: tables.table_rates(context, "apply"),
    "table_row_bytes": lambda context: tables.table_rates(context, "bytes"),
    "table_1e9_rows": tables.large_table,
    "table_wide_deep_b64": lambda context: tables.wide_deep(context, 64),
    "table_clicks": tables.clicks_against_torch,
    "table_admission": tables.admission,
    "table_expiry": tables.expiry,
    "table_shared_rows": lambda context: traffic.shared_rows(context, 30),
    "table_shared_rows_1e5": lambda context: traffic.shared_rows(context, 100_000),
    "table_delta_bytes": deltas.delta_bytes,
    "table_delta_pause_ms": deltas.pause,
    "table_resize_rate": deltas.resize_rate,
    "ctr_wide_deep": tables.wide_deep_against_peers,
    "checkpoint_1GiB_slowdown": checkpoint_slowdown,
    "checkpoint_1GiB_load": checkpoint_load,
    "ps_restart_warm_1GiB_ms": restart_warm,
    "ps_restart_cold_1GiB_ms": restart_cold,
    "rss_ps_per_shard": memory_of_ps,
    "rss_worker_per_model": memory_of_worker,
    "failover_ms": failover,
    "start_w128_ms": lambda context: start_many(context, 128),
    "threads_worker": lambda context: threads(context, "worker"),
    "threads_w16": lambda context: threads(context, "worker", 16),
    "threads_ps": lambda context: threads(context, "ps"),
}
