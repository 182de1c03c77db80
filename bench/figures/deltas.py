"""Checkpoints of tables: the bytes of a delta, the steps beside it, and loading by another number of ps."""

import json
import os
import re
import statistics
from pathlib import Path

from figures.processes import Cluster, Server, print_progress, read_files_ms
from figures.ratios import Missing, figure
from figures.tables import clicks_job, wide_deep_job
from figures.turns import size_text


def show(cluster, what, *numbers):
    text = cluster.workspace.output_of(cluster.tanist, "checkpoints", what, *(str(number) for number in numbers), "--dir",
                                       str(cluster.folder), "-o", "json")
    return json.loads(text)


def touched_bytes(cluster, before, number):
    """The bytes of the rows, with their keys and state, that differ between two checkpoints."""
    sizes = {table["name"]: table["bytes"] / table["rows"] for table in show(cluster, "show", number)["tables"] if table["rows"]}
    return sum(sizes[table["name"]] * (table["added"] + table["changed"])
               for table in show(cluster, "diff", before, number)["tables"] if table["name"] in sizes)


def delta_bytes(context):
    """Each checkpoint of a run that adds a delta is a round."""
    every, wanted = (50, 4) if context.quick else (200, 10)
    job = clicks_job("deltas", 1_000_000)
    job["checkpoint"] = {"every_steps": every, "keep": 100}
    cluster = Cluster(context.workspace, "deltas", job)
    cluster.wait(f"checkpoint {wanted}", lambda status: status["checkpoint"]["id"] >= wanted)
    cluster.stop()
    numbers, rows = sorted(line["id"] for line in show(cluster, "list")["checkpoints"]), []
    for before, number in zip(numbers, numbers[1:]):
        files = [file for file in show(cluster, "show", number)["files"] if file["checkpoint"] == number]
        if files and all(file["kind"] == "delta" for file in files):
            rows.append((sum(file["bytes"] for file in files), touched_bytes(cluster, before, number)))
            print_progress(f"  checkpoint {number}: {rows[-1][0]} bytes, {rows[-1][1]:.0f} of them of touched rows")
    if not rows:
        raise Missing("no checkpoint of the run has deltas alone")
    return figure("bytes of a delta", "lower", f"26 tables, the largest of 10^6 rows, 2 ps, a checkpoint every {every} steps", rows,
                  "rows that differ from the checkpoint before, with keys and state")


class Steps:
    """Asks the first ps of a cluster for its step, again and again."""

    def __init__(self, context, cluster):
        task = next(task for task in cluster.status()["tasks"] if (task["role"], task["index"]) == ("ps", 0))
        variables = Path(f"/proc/{task['pid']}/environ").read_bytes().split(b"\0")
        key = next(text for text in variables if text.startswith(b"TANIST_CLUSTER_KEY="))
        key = key.decode().partition("=")[2].partition(":")[0]
        self.server = Server(context.workspace, context.workspace.program("bench_steps"), key, task["address"], str(task["incarnation"]))

    def times(self, duration):
        """Milliseconds between two steps: the median, the percentiles 99 and 99.9, and the longest."""
        self.server.process.stdin.write(f"{duration}\n")
        self.server.process.stdin.flush()
        return tuple(float(number) for number in self.server.line().split())


def pause(context):
    """The longest step of each window with several delta checkpoints and of one without, in turns."""
    seconds, window = 2, 5 if context.quick else 20
    clusters, steps = [], []
    for name, every in (("with-deltas", seconds), ("without-deltas", 0)):
        job = dict(wide_deep_job(metrics={"every_steps": 100}), name=name, checkpoint={"every_seconds": every})
        job["data"]["options"]["values"] = 100_000
        del job["train"]["steps"], job["train"]["decay_steps"]
        clusters.append(Cluster(context.workspace, name, job))
        steps.append(Steps(context, clusters[-1]))
        clusters[-1].pause()
    rows, percentiles = [], []
    for number in range(context.few_rounds):
        found = []
        for cluster, asked in zip(clusters, steps):
            cluster.command("resume")
            asked.times(0.5)
            found.append(asked.times(window))
            cluster.pause()
        rows.append((found[0][3], found[1][3]))
        percentiles.append(found)
        print_progress(f"  round {number + 1} of {context.few_rounds}: median, p99, p99.9, longest step with deltas: "
                       f"{found[0]} ms, without: {found[1]} ms")
    result = figure("ms of the longest step", "lower",
                    f"examples/ctr/wide-deep.json with 10^5 values, 2 ps, a checkpoint each {seconds} s, windows of {window} s", rows,
                    "the same without checkpoints")
    medians = [[statistics.median(found[side][i] for found in percentiles) for i in range(4)] for side in (0, 1)]
    return dict(result, step_ms=medians[0], step_ms_limit=medians[1])


def load_ms(cluster, generation):
    """The longest of the times in which the ps have loaded the checkpoint of this generation."""
    text = "".join(path.read_text(encoding="utf-8") for path in (cluster.folder / "logs").glob("ps-*.log"))
    found = re.findall(rf"loaded generation {generation} from checkpoint.* took_ms=(\d+)", text)
    if not found:
        raise Missing(f"no log of a ps reports the load of generation {generation}")
    return max(int(number) for number in found)


def check_digest(context, job, result):
    """The run has the parameters of one process, which computes as many steps."""
    path = context.workspace.job("alone", job)
    text = context.workspace.output_of(context.workspace.program("tanist"), "run", "--local", path, "--dir",
                                       str(context.workspace.folder / "alone"), "-o", "json", "--quiet", "--set",
                                       f"train.steps={result['steps']}")
    for key in ("parameters_digest", "checkpoint_digest"):
        if json.loads(text)[key] != result[key]:
            raise Missing(f"after {result['steps']} steps the {key} is {result[key]}, that of one process {json.loads(text)[key]}")


def resize_rate(context):
    """Tables that 3 ps have saved are loaded by 2, then by 5 ps, which end with the parameters of an undisturbed run."""
    job = clicks_job("resize", 1_000_000)
    job["cluster"]["ps"] = 3
    job["checkpoint"] = {"every_steps": 1_000_000}
    steps = 50 if context.quick else 1000
    cluster = Cluster(context.workspace, "resize", job)
    cluster.wait(f"step {steps}", lambda status: status["step"] >= steps)
    rows, texts = [], []
    for count in (2, 5):
        done = cluster.command("resize", f"ps={count}", "-o", "json")
        if done.returncode != 0:
            raise Missing(f"resize ps={count}: {done.stderr.strip()[-300:]}")
        status = cluster.wait("a step", lambda status: status["phase"] == "running")
        folder = cluster.folder / "checkpoints" / f"{status['checkpoint']['id']:010}"
        size, seconds = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()), read_files_ms(folder) / 1000
        took = load_ms(cluster, status["generation"]) / 1000
        rows.append((size / took / 1e6, size / seconds / 1e6))
        texts.append(f"{size_text(size)} by {count} ps in {1000 * took:.0f} ms, pause {json.loads(done.stdout)['paused_ms']} ms")
        print_progress(f"  {texts[-1]}, read() {1000 * seconds:.0f} ms")
    check_digest(context, job, cluster.stop())
    return figure("MB/s", "higher", f"26 tables of 3 ps: {'; '.join(texts)}", rows, f"read() of the same files, {os.cpu_count()} processors")
