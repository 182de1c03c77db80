"""The figures of tables."""

import json
import statistics
from pathlib import Path

from figures.processes import Cluster, OneProcess, print_progress, seconds, steps_per_second
from figures.ratios import Missing, figure, quartiles
from figures.turns import OVER_TCP, QUIET, Scaled, Turn, in_turns, lines_of_rounds, over_tcp, start_peers

ROOT = Path(__file__).resolve().parent.parent.parent
CLICKS_PEERS = (("tensorflow_ps.py", "TensorFlow, parameter servers"), ("tensorflow_one.py", "TensorFlow, one process"),
                ("torch_wide_deep.py", "PyTorch, sparse EmbeddingBag, one process"))
WARM_STEPS = 300  # More than those after which a row expires.


def table_rates(context, kind):
    rows = (1 if context.quick else 4) << 20
    text = context.workspace.output_of(context.workspace.program("bench_table"), str(context.rounds), str(rows), kind)
    if kind == "bytes":
        return figure("bytes per row", "lower", f"{rows} rows of 16 values, row-wise Adagrad", lines_of_rounds(text),
                      "values, state and key")
    return figure("rows/s", "higher", f"{kind} of {rows} rows of 16 values", lines_of_rounds(text),
                  "copies of random rows of one array")


def clicks_job(name, values):
    """One embedding for each of 26 categories, of which the largest has `values` values."""
    columns = {"I1..I13": "number", "C1..C26": {"as": "category", "embed": 16, "table": True}}
    return {"name": name, "data": {"type": "criteo-like", "examples": 1 << 24, "test_examples": 16384, "options": {"values": values},
                                   "columns": columns},
            "model": {"type": "layers", "outputs": 1, "loss": "sigmoid_cross_entropy",
                      "layers": [{"dense": {"units": 32, "activation": "relu"}}, {"dense": 1}]},
            "train": {"batch": 2048, "slices": 8, "optimizer": "adam", "learning_rate": 0.001},
            "metrics": {"every_steps": 1}, "cluster": {"coordinators": 1, "ps": 2, "workers": 2}, **QUIET}


def updated_rows(cluster):
    """The rows that a step of a paused cluster updates, on the average of all its steps."""
    status = cluster.wait("a pause in which all ps answer", lambda status: all(ps for table in status["tables"] for ps in table["ps"]))
    return sum(table["updates"] for table in status["tables"]) / status["step"]


def large_table(context):
    """The same model with more rows than memory could hold, of which those exist that were trained, and with few."""
    small = Turn(context, clicks_job("small-tables", 100_000))
    large = Cluster(context.workspace, "large-tables", clicks_job("large-tables", 1_000_000_000))
    rates = in_turns(context, large, [small])
    clusters = (large, small.cluster)
    updated = [updated_rows(cluster) for cluster in clusters]
    trained = [sum(table["rows"] for table in cluster.stop()["tables"]) for cluster in clusters]
    rows = [(rate, limit, limit * updated[1] / updated[0]) for rate, limit in rates]
    return figure("steps/s", "higher", f"26 tables, the largest of 10^9 rows; {trained[0]} were trained, {updated[0]:.0f} in a step", rows,
                  f"the same with 10^5 rows, {trained[1]} trained, {updated[1]:.0f} in a step",
                  ["steps with as many updated rows per second as with 10^5 rows"])


def processor_ratio(context, job, without):
    """Quartiles of the processor time of a step without a rule over that with it, in one process each."""
    one, other = (OneProcess(context.workspace, f"{each['name']}-local", each) for each in (job, without))
    ratios, steps = [], 50 if context.quick else 150
    for program in (one, other):
        program.cost(WARM_STEPS)
    for _ in range(context.rounds):
        cost = one.cost(steps)
        ratios.append(other.cost(steps) / cost)
        print_progress(f"  {1000 * cost:.3g} ms of a processor for a step, {ratios[-1]:.3g} of it without the rule")
    return quartiles(ratios)


def rules(context, text, rule):
    """A job whose tables have a rule, beside the same job without, both after WARM_STEPS."""
    job = clicks_job("with-rule", 1_000_000)
    job["train"].update(batch=256, tables=[dict(rule, match="columns/*")])
    without = dict(job, name="without-rule", train={key: job["train"][key] for key in job["train"] if key != "tables"})
    other = Turn(context, without, ready=WARM_STEPS)
    cluster = Cluster(context.workspace, job["name"], job)
    cluster.wait(f"step {WARM_STEPS}", lambda status: status["step"] >= WARM_STEPS)
    rows = in_turns(context, cluster, [other])
    have, had = (sum(table["rows"] for table in one.stop()["tables"]) for one in (cluster, other.cluster))
    found = figure("steps/s", "higher", f"2 ps, 2 workers, batch 256, 26 tables; {text}; {have} rows at the end", rows,
                   f"the same job without this rule, {had} rows")
    return dict(found, processor_ratio=processor_ratio(context, job, without))


def admission(context):
    return rules(context, "rows for keys of 3 steps within 1000", {"admit_after": 3, "admit_within_steps": 1000})


def expiry(context):
    return rules(context, "rows expire after 100 steps", {"expire_after_steps": 100})


def wide_deep_job(**more):
    """The example without evaluations and checkpoints."""
    job = json.loads((ROOT / "examples/ctr/wide-deep.json").read_text(encoding="utf-8"))
    return dict(job, cluster={"coordinators": 1, "ps": 2, "workers": 2}, **QUIET, **more)


def wide_deep(context, batch):
    """The example without evaluations and checkpoints, on a cluster and in one process."""
    job = wide_deep_job(metrics={"every_steps": 10})
    job["data"]["test_examples"] = 16384
    job["train"]["batch"] = batch
    del job["train"]["steps"], job["train"]["decay_steps"]
    cluster = Cluster(context.workspace, "wide-deep", job)
    rows = in_turns(context, cluster, [OneProcess(context.workspace, "wide-deep-local", job),
                                       over_tcp(context, dict(job, name="wide-deep-tcp"))])
    return figure("steps/s", "higher", f"2 ps, 2 workers, batch {batch}, 56 tables", rows, "the same job in one process", [OVER_TCP])


def train_clicks(context, job, number):
    """Examples/s of one training in one process, from its first point to its last one, and its area under the ROC curve."""
    folder = context.workspace.folder / f"clicks-{number}"
    text = context.workspace.output_of(context.workspace.program("tanist"), "run", "--local", context.workspace.job("clicks", job),
                                       "--dir", str(folder), "-o", "json", "--quiet")
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    points = [(line["step"], seconds(line["time"])) for line in lines if "loss" in line and "event" not in line]
    rate = steps_per_second(points) * job["train"]["batch"]
    return rate, json.loads(text)["auc"]


def train_clicks_in_torch(context, *arguments):
    """The same of PyTorch, and its name; None: no interpreter has it."""
    script = ROOT / "bench/peers/torch_clicks.py"
    reasons = [] if context.peers_python else ["give --peers"]
    for python in context.peers_python:
        try:
            name, numbers = context.workspace.output_of(python, "-B", str(script), *arguments).splitlines()
            return (*(float(number) for number in numbers.split()), name)
        except Missing as missing:
            reasons.append(str(missing).splitlines()[-1][:200])
    print_progress(f"  skipped: PyTorch, sparse EmbeddingBag: {'; '.join(reasons)}")
    return None


def clicks_against_torch(context):
    """Each example once, in one process each; the members `auc`, `auc_limit` and `auc_best` are areas under the ROC curve."""
    train, test, values = (1 << 15, 1 << 14, 1000) if context.quick else (1 << 20, 1 << 17, 100_000)
    job = clicks_job("clicks", values)
    job["seed"] = 1
    job["data"].update(examples=train, test_examples=test)
    job["train"].update(batch=256, steps=train // 256, table_optimizer="lazy_adam")
    job["metrics"] = {"every_steps": 16}
    path = str(context.workspace.folder / "clicks.rows")
    best = float(context.workspace.output_of(context.workspace.program("bench_clicks"), "1", str(values), str(train), str(test), path))
    rows, areas, name = [], [], None
    for number in range(context.few_rounds):
        rate, area = train_clicks(context, job, number)
        peer = train_clicks_in_torch(context, path, str(train), str(test), "256")
        rows.append((rate, peer[0] if peer else None))
        areas.append((area, peer[1] if peer else None))
        name = f"{peer[2]}, sparse EmbeddingBag, one process" if peer else None
        print_progress(f"  round {number + 1} of {context.few_rounds}: {rows[-1]}, auc {areas[-1]}")
        if not peer:
            break
    found = figure("examples/s", "higher", f"{train} examples once, batch 256, 26 tables, one process", rows, name)
    return dict(found, auc=areas[0][0], auc_limit=areas[0][1], auc_best=best)




def write_clicks(context, job):
    """A folder with the rows of the job for peers, and the best area under the ROC curve."""
    folder = context.workspace.folder / "clicks"
    folder.mkdir()
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    numbers = (job["seed"], job["data"]["options"]["values"], job["data"]["examples"], job["data"]["test_examples"])
    text = context.workspace.output_of(context.workspace.program("bench_clicks"), *(str(number) for number in numbers),
                                       str(folder / "clicks.rows"))
    return folder, float(text)


def area_of_tanist(context, job):
    """In one process, which computes the same bits as the cluster."""
    path, folder = context.workspace.job("whole", job), context.workspace.folder / "whole"
    text = context.workspace.output_of(context.workspace.program("tanist"), "run", "--local", path, "--dir", str(folder), "-o", "json",
                                       "--quiet")
    return json.loads(text)["auc"]


def wide_deep_against_peers(context):
    """The example and the same model in TensorFlow and PyTorch: the areas under the ROC curve after the training of the example, then the
    speeds in turns."""
    job = wide_deep_job(metrics={"every_steps": 4})
    if context.quick:
        job["data"].update(examples=1 << 16, test_examples=1 << 14)
        job["train"].update(steps=256, decay_steps=256)
    batch, steps = job["train"]["batch"], job["train"]["steps"]
    folder, best = write_clicks(context, job)
    peers = start_peers(context, CLICKS_PEERS, str(batch), str(folder))
    areas = [area_of_tanist(context, job)] + [server.ask(f"area {steps}") for server, _ in peers]
    print_progress(f"  areas under the ROC curve: {areas}, best {best}")
    endless = dict(job, train={key: job["train"][key] for key in job["train"] if key not in ("steps", "decay_steps")})
    one = Scaled(OneProcess(context.workspace, "clicks-local", endless), batch)
    rows = in_turns(context, Cluster(context.workspace, "clicks-cluster", endless), [server for server, _ in peers] + [one], batch)
    names = [name for _, name in peers] + ["the same job in one process"]
    if not peers:
        rows, names = [(row[0], None, *row[1:]) for row in rows], [None, *names]
    found = figure("examples/s", "higher", f"examples/ctr/wide-deep.json, 2 ps, 2 workers, batch {batch}", rows, names[0], names[1:])
    return dict(found, auc=areas[0], auc_best=best, auc_others=dict(zip((name for _, name in peers), areas[1:])))
