"""docs/performance.md, and its plot, from the list of objects that bench/run has written."""

import argparse
import json
import os
from pathlib import Path

from figures.catalogue import FIGURES

MEANINGS = (
    ("exchange_", "A worker sends this many bytes to a ps and receives as many, over raw TCP with blocking sockets. Above 1, the "
     "transport is faster: it overlaps reading and writing."),
    ("null_step_", "Steps of a model with two parameters: the cost of messages alone. The limit is a barrier of threads by futex, "
     "which no cluster of processes on different hosts can reach; beside it is a barrier over raw TCP. Where a step of your model takes "
     "milliseconds, this cost disappears."),
    ("apply_", "The update of a ps, from the gradients of eight slices to new values, over one pass through memory with the same bits."),
    ("local_b", "Examples/s of `tanist run --local` with a thread for each processor, with the network, data and optimizer of `cluster_b*`, over a plain "
     "C program with the same kernels on two threads. Beside it is the same run on one thread."),
    ("cluster_b", "Examples/s of the network 784-128-10 with Adam on Fashion-MNIST, with 2 ps and 2 workers on this machine, over a plain "
     "C program with the same kernels, data and optimizer, and no messages: the faster of one and two threads. `bNNN` is the batch. The nodes are bound to processors (`cluster.bind`); "
     "beside it is the same job without this."),
    ("cnn_b", "The same with two convolutions (32 and 64 filters), where arithmetic dominates."),
    ("mirror_bytes_", "Bytes that a worker without ps sends to the others in a step, as the kernel counts them, over the bytes of the gradient, with N "
     "workers (`wN`) that have a slice each. A worker sends parts of its gradient to the owners of the other ranges, and the sum of its own range to "
     "each other worker: 2(N - 1)/N. The rest is headers, and questions that were repeated."),
    ("mirror_b", "Steps/s of the same network without ps (`strategy.type` mirror) with 2 workers, over the plain C program with two threads. "
     "Beside it are the same job with 2 ps and, where they are installed, two processes of TensorFlow and of PyTorch that add their "
     "gradients, with the same model, batch and optimizer."),
    ("mirror_memory", "Resident memory of a worker without ps over its parameters, with Adam. The limit of 32 bytes: values and two arrays of "
     "state, the gradient, the sum of a step and a kept one, and the pushes of two steps. A worker that has received the values of another one keeps the "
     "memory of its former ones."),
    ("table_lookup", "Lookups of trained rows of a table, over copies of rows of 64 bytes from random places of one array. No table by key reaches 1: a lookup reads a line of the index, and only then two or three of the row, which has its key, its step and the cell before it beside its values; the copies read one or two, whose addresses are known from the start."),
    ("table_apply", "Updates of rows with row-wise Adagrad, over the same copies. An update reads as much as a lookup, and writes another cell of the row and the line of the index, since the values of the step before stay readable: two to three times the memory of a lookup, beside the arithmetic."),
    ("table_row_bytes", "Memory of a trained row of 16 values, over its values, state and key alone."),
    ("table_1e9_rows", "Steps/s of a model with 26 tables of Zipf-distributed keys, the largest with 10^9 values, over the same model with at most "
     "10^5 values of each. In the large tables more keys of a batch differ, so more rows travel and are created: the ratio contains that. The line below compares "
     "the updated rows per second instead."),
    ("table_wide_deep_", "Steps/s of `examples/ctr/wide-deep.json`, with 56 tables of Zipf-distributed keys, on 2 ps and 2 workers of this machine, over "
     "`tanist run --local` of the same job, which computes the same bits without messages. Beside it is the same cluster over TCP."),
    ("table_clicks", "Examples/s of one process that trains a model of clicks with 26 tables, and of one process of PyTorch, where it is "
     "installed, with a sparse EmbeddingBag, the same rows, batch and optimizers. The file also has the area under the ROC curve of both, and the best possible one."),
    ("table_admission", "Steps/s of a model with 26 tables of Zipf-distributed keys, of which a key gets its row in the third step that contains it "
     "within 1000 steps (`admit_after`), over the same job without this rule. Counting keys costs time, and fewer rows are created and "
     "updated: the ratio contains both."),
    ("table_expiry", "The same with rows that expire after 100 steps (`expire_after_steps`), so that rows are removed and created in each step, over "
     "the same job without this rule, whose tables only grow."),
    ("table_shared_rows", "Bytes of the rows of `examples/ctr/wide-deep.json` that ps send in a step to four workers in one process, over those of the rows that "
     "the step updates, each once. Beside it are four workers in processes of their own, and one worker with four threads. `_1e5`: with 10^5 values of the largest category."),
    ("table_delta_bytes", "Bytes of the delta files of a checkpoint, over the bytes of keys, values and state of the rows that differ from the "
     "checkpoint before."),
    ("table_delta_pause_ms", "The longest step in a window with checkpoints of tables, over the longest in a window without. The file also has the "
     "median, the percentiles 99 and 99.9 and the longest step of both (`step_ms`, `step_ms_limit`), as a client sees them that asks a ps for its step."),
    ("table_resize_rate", "Bytes per second of a checkpoint of tables of 3 ps that 2 ps load, then that of 2 ps that 5 load, over read() of the same files. "
     "The run then ends with the digests of one process."),
    ("ctr_wide_deep", "Examples/s of `examples/ctr/wide-deep.json` on 2 ps and 2 workers, synchronous and with the bits of one process, over 2 ps and 2 "
     "workers of TensorFlow (ParameterServerStrategy), which are asynchronous. Beside it are one process of TensorFlow, one of PyTorch and one of Tanist. Tanist "
     "computes the rows of the data while it trains, and finds the rows of 56 tables by their keys; the others read the same data from a file "
     "in which keys are replaced by consecutive numbers, and have two tables. The file also has the areas under the ROC curve after the "
     "training of the example, and the best possible one."),
    ("checkpoint_1GiB_load", "Loading a shard of a checkpoint, which checks all its digests, over read() of the same file to the same memory "
     "on one thread. Both read from the disk: before each, the file is dropped from the page cache. `cached_ratio` is the same with the "
     "file in the cache."),
    ("checkpoint_", "Steps/s while checkpoints are written, over steps/s without. 1: checkpoints cost nothing. Where there is a line below it, that "
     "compares with steps/s without checkpoints while another program copies as many bytes of memory to the same disk, with idle priority."),
    ("ps_restart_warm_", "From SIGKILL of a ps to the end of the second step, the first that needs the ps again. Its agent has kept its memory, so nothing is "
     "loaded and no step is computed again. The limit is two steps without a failure."),
    ("ps_restart_cold_", "From SIGKILL of a ps to the first new step where a ps does not keep its memory, here because of `train.clip_norm`. "
     "All ps load the last checkpoint, so the limit is to read its files. The steps since that checkpoint are computed again and are not "
     "counted here."),
    ("rss_ps_", "Resident memory of a ps over its shard. The limit is what Adam needs, and one more copy of the values."),
    ("rss_worker_", "Resident memory of a worker over the model. The limit is the values, their gradient and a tenth of both."),
    ("start_", "From the start of `tanist run`, which starts a ZooKeeper ensemble, to the end of the first step of all workers. The limit is "
     "the same with one worker, which is mostly the start of the ensemble. Beside it are the same workers in few processes "
     "(`cluster.workers_per_process`)."),
    ("threads_w16", "Threads of a process with 16 workers. No limit is measured."),
    ("threads_", "Threads of a process. No limit is measured."),
    ("failover_", "From SIGKILL of the chief to the next chief's record in ZooKeeper. Training continues meanwhile. No limit is measured."),
)
ADVICE = """## When one process is the better choice

A cluster on one machine costs messages and copies that one process does not have: compare the speed of `local_b*` with that of `cluster_b*`.
`tanist run --local` has the same bits (see [cli.md](cli.md#in-one-process)). Use it while the model fits into one process, one machine is fast enough, and a run may end
with that process; the same folder keeps its checkpoints. Use a cluster where

- the parameters or the arithmetic need more than one machine,
- training must go on while processes or hosts die,
- steps are long: with larger batches and more arithmetic per parameter the ratio approaches 1 (compare `cluster_b64` with `cluster_b4096` and
  `cnn_b512`).
"""
WIDTH, ROW, LEFT, SCALE = 760, 24, 220, 300


def meaning_of(name):
    return next((text for prefix, text in MEANINGS if name.startswith(prefix)), "")


def number(value):
    return "" if value is None else f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def ratio(row):
    return "" if row["ratio"] is None else f"{row['ratio']:.2f} [{row['ratio_q1']:.2f}, {row['ratio_q3']:.2f}]"


def table(found):
    yield "| figure | value | limit | ratio [quartiles] | rounds | measured |"
    yield "|---|---|---|---|---|---|"
    for row in found:
        limit = f"{number(row['limit'])} ({row['limit_name']})" if row["limit"] is not None else ""
        better = " (lower is better)" if row["better"] == "lower" else ""
        yield (f"| `{row['name']}` | {number(row['value'])} {row['unit']}{better} | {limit} | {ratio(row)} | {row['rounds']} | "
               f"{row['size']} |")
        for other in row["beside"]:
            yield f"| | | {number(other['limit'])} ({other['name']}) | {ratio(other)} | | |"


def document(found, source, plot):
    machine = f"{os.cpu_count()} cores"
    quick = [f"`{row['name']}`" for row in found if row["quick"]]
    which = f" {', '.join(quick)} are" if len(quick) < len(found) else " The figures are those"
    quick = f"{which} of `--quick`, with smaller sizes and few rounds." if quick else ""
    used = max((row["others_used"] for row in found), default=0)
    busy = (f" It has {machine}, of which other programs used up to {used:.1f}: trust the ratios, whose two sides took turns, and no absolute "
            "figure. On busy cores several processes get more time than one, so a cluster cannot be compared with one process there."
            if used >= 0.3 else f" It has {machine}, which no other program used.")
    yield "# Performance\n"
    yield (f"This document is generated by `bench/report` from `{source}`, which `bench/run` measured on one machine.{quick}{busy} Measure your "
           "own: `bench/run --quick -o FILE.json`; see [bench/README.md](../bench/README.md).\n")
    yield ("Each figure stands beside its limit, the speed of the simplest program that does the same work. They take turns; `ratio` is "
           "the median over rounds of value / limit, with quartiles in brackets.\n")
    yield f"![ratios]({plot})\n"
    yield from table(found)
    yield "\n## What the figures mean\n"
    for _, text in MEANINGS:
        names = [row["name"] for row in found if meaning_of(row["name"]) == text]
        if names:
            yield f"- {', '.join(f'`{name}`' for name in names)}: {text}"
    missing = [name for name in FIGURES if name not in {row["name"] for row in found}]
    if missing:
        yield f"\nNot in this file: {', '.join(f'`{name}`' for name in missing)}. `bench/run --help` has all names."
    yield ""
    yield ADVICE.rstrip()


def bars(found):
    """An SVG with a bar for each ratio, a line for its quartiles, and one line at 1."""
    rows = [row for row in found if row["ratio"] is not None]
    most = max([2, *(row["ratio_q3"] for row in rows)])
    at = lambda value: LEFT + SCALE * min(value, most) / most * 1.6
    height = ROW * (len(rows) + 1)
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">')
    yield f'<rect width="{WIDTH}" height="{height}" fill="white"/>'
    for i, row in enumerate(rows):
        y = ROW * i + 4
        color = "#b8860b" if row["better"] == "lower" else "#4682b4"
        yield f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{row["name"]}</text>'
        yield f'<rect x="{LEFT}" y="{y}" width="{at(row["ratio"]) - LEFT:.1f}" height="{ROW - 6}" fill="{color}"/>'
        yield (f'<path d="M{at(row["ratio_q1"]):.1f} {y + 9}H{at(row["ratio_q3"]):.1f}" stroke="black" stroke-width="2"/>')
    yield f'<path d="M{at(1):.1f} 0V{height - ROW}" stroke="black" stroke-dasharray="4"/>'
    yield (f'<text x="{LEFT}" y="{height - 6}">value / limit; dashed: 1. Blue: higher is better; brown: lower is better.</text>')
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser(prog="bench/report", description="Write a document and its plot from the file that bench/run "
                                     "has written, for instance bench/report FILE.json -o docs/performance.md")
    parser.add_argument("file", metavar="FILE.json", type=Path)
    parser.add_argument("-o", "--output", metavar="FILE.md", type=Path, required=True, help="the plot is beside it, as FILE.svg")
    options = parser.parse_args()
    found = json.loads(options.file.read_text(encoding="utf-8"))
    plot = options.output.with_suffix(".svg")
    options.output.write_text("\n".join(document(found, options.file.name, plot.name)) + "\n", encoding="utf-8")
    plot.write_text("\n".join(bars(found)) + "\n", encoding="utf-8")
    return 0
