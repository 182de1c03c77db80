"""Random jobs for test_random_jobs.py: most are valid, and their values lie at the edges of what a key allows.

`job_of_seed(seed, folder)` returns the same job for the same seed. The names of the keys and what they allow are read from
docs/job-file.md, so a new key is drawn as well. Keys that only make a run long or large, such as `train.steps`, have limits here.
"""

import random
import re

from case import ROOT

ROW = re.compile(r"\| `([a-z_0-9.]+)` [*+ ]*\| (.*?) \| `(.*?)` \|")
RANGE = re.compile(r"^([0-9.e+-]+) (?:to ([0-9.e+-]+)|or more)(, or `none`)?$")
# The greatest values that are tried, where greater ones need memory or time, and keys that are not changed alone.
LIMITS = {"train.steps": 9, "train.batch": 64, "model.inputs": 40, "model.outputs": 40, "data.examples": 70,
          "data.test_examples": 40, "data.threads": 3, "cluster.table_mib": 1 << 30}
LEFT = {"name", "model.type", "model.path", "model.symbol", "model.warm_start", "data.path", "data.type", "data.format",
        "data.train", "data.test", "data.validation", "strategy.type", "train.kernels"}


def keys():
    """Each key of a job file, with the text of what it allows."""
    text = (ROOT / "docs/job-file.md").read_text(encoding="utf-8")
    found = dict(match.groups()[:2] for match in ROW.finditer(text))
    assert len(found) > 80, "docs/job-file.md: the table of all keys has another form"
    return found


def edge(rng, key, allowed):
    """A value of a key near an end of what it allows; None: it is not a number, a name or a switch."""
    if match := RANGE.match(allowed):
        least, most = float(match[1]), min(float(match[2] or 9e15), LIMITS.get(key, 9e15))
        whole = not any(mark in match[1] + (match[2] or "") for mark in (".", "e")) and "1e" not in allowed
        if match[3] and rng.random() < 0.2:
            return "none"
        if match[2] in ("1000", "1", "1e+06", "1e+30") and not key.endswith(("steps", "seconds", "workers", "evaluators")):
            whole = False
        if whole:
            return int(min(most, max(least, rng.choice([least, least + 1, least + 2, rng.randint(2, 9), most - 1, most]))))
        tiny = rng.choice([1e-310, 1e-300, 1e-45, 1e-38, 1e-12, 1e-6, 0.1, 0.5])
        return rng.choice([least, most, min(most, least + tiny), most * 0.999999, min(most, 1)])
    names = re.findall(r"`([a-z_0-9]+)`", allowed)
    if names in (["true", "false"], ["false", "true"]):
        return rng.random() < 0.5
    return rng.choice(names) if names and not allowed.startswith("a ") else None


def put(job, key, value):
    """Set a key by its full name."""
    *sections, last = key.split(".")
    for section in sections:
        job = job.setdefault(section, {})
    job[last] = value


# Layers.

def activation(rng):
    return rng.choice(["linear", "relu", "leaky_relu", "gelu", "silu", "sigmoid", "tanh"])


def dropout(rng):
    return rng.choice([0, 0.5, 1e-9, 0.9, 0.99])


def flat_layer(rng):
    """A layer that keeps one dimension."""
    return rng.choice([
        lambda: {"dense": {"units": rng.choice([1, 2, 3, 17]), "activation": activation(rng)}},
        lambda: {"dropout": dropout(rng)}, lambda: "layer_norm", lambda: "batch_norm", lambda: activation(rng),
        lambda: {"residual": rng.choice([["layer_norm"], [{"dropout": dropout(rng)}]])},
        lambda: {"concat": [[], [{"dense": 1}]]}, lambda: {"multiply": [[], ["sigmoid"]]}, lambda: {"add": [[], []]},
        lambda: {"slice": {"count": 1}}, lambda: {"dot": [[{"dense": 3}], [{"dense": 3}]]},
    ])()


def image_layer(rng):
    return rng.choice([
        lambda: {"conv2d": {"filters": rng.choice([1, 2, 5]), "kernel": rng.choice([1, 2, 3]),
                            "stride": rng.choice([1, 2, 3]), "padding": rng.choice(["same", "none"]),
                            "activation": activation(rng)}},
        lambda: {rng.choice(["max_pool", "mean_pool"]): {"size": rng.choice([1, 2, 3]), "stride": rng.choice([1, 2]),
                                                         "padding": rng.choice(["same", "none"])}},
        lambda: "batch_norm", lambda: "layer_norm", lambda: {"dropout": dropout(rng)}, lambda: activation(rng),
    ])()


def sequence_layer(rng):
    heads = rng.choice([1, 1, 2, 3])
    return rng.choice([
        lambda: "positions", lambda: "layer_norm", lambda: {"dense": rng.choice([1, 6])}, lambda: "batch_norm",
        lambda: {"self_attention": {"heads": heads, "causal": rng.random() < 0.5, "dropout": dropout(rng)}},
        lambda: {"transformer_block": {"heads": heads, "mlp_width": rng.choice([1, 4]), "dropout": dropout(rng)}},
        lambda: {"residual": [{"self_attention": 1}]},
    ])()


def some(rng, make, most=3):
    return [make(rng) for _ in range(rng.randint(0, most))]


# Models with data.

def plain(rng, _folder):
    kind = rng.choice(["linear", "softmax", "mlp"])
    model = {"type": kind, "inputs": rng.choice([1, 2, 7, 33]), "outputs": rng.choice([1, 2, 3, 33])}
    if kind != "linear":
        model["outputs"] = max(2, model["outputs"])
    if kind == "mlp":
        model["hidden"] = rng.choice([[1], [3], [1, 1, 1, 1, 1, 1, 1, 1], [17, 2]])
    return model, {"type": "synthetic", "noise": rng.choice([0, 0.1, 1e6, 1e-300])}


def layers(rng, _folder):
    outputs = rng.choice([1, 2, 5])
    losses = ["squared_error", "absolute_error", "huber_error"]
    losses.append("sigmoid_cross_entropy" if outputs == 1 else "softmax_cross_entropy")
    side, channels = rng.choice([1, 2, 5]), rng.choice([1, 3])
    image = rng.random() < 0.4
    inner = some(rng, image_layer) + ["flatten"] if image else some(rng, flat_layer)
    model = {"type": "layers", "inputs": side * side * channels, "outputs": outputs, "loss": rng.choice(losses),
             "layers": inner + [{"dense": outputs}]}
    if image:
        model["shape"] = [side, side, channels]
    elif rng.random() < 0.2:
        model.update(outputs=model["inputs"], targets="inputs", loss="squared_error",
                     layers=inner + [{"dense": model["inputs"]}])
    if model["loss"] == "softmax_cross_entropy":
        model["label_smoothing"] = rng.choice([0, 0.99, 1e-300, 0.1])
    return model, {"type": "synthetic"}


def text(rng, folder):
    inputs, width = rng.choice([1, 2, 9]), rng.choice([1, 2, 6])
    path = folder / "text"
    path.write_bytes(bytes(rng.choice(b"ab \n") for _ in range(rng.choice([300, 1000]))))
    model = {"type": "layers", "inputs": inputs, "outputs": 128,
             "layers": [{"embedding": {"rows": 128, "width": width}}, *some(rng, sequence_layer), {"dense": 128}]}
    return model, {"type": "text", "path": str(path)}


def matches(rng, _folder):
    inputs, width = rng.choice([2, 5]), rng.choice([1, 4])
    tower = lambda first, count: [{"slice": {"first": first, "count": count}}, {"embedding": {"rows": 256, "width": width}},
                                  "global_mean_pool" if count > 1 else "flatten", *some(rng, flat_layer, 1), {"dense": 3}]
    towers = [tower(0, inputs - 1), tower(inputs - 1, 1)]
    both = rng.random() < 0.5
    model = {"type": "layers", "inputs": inputs, "outputs": 1,
             "loss": "slice_softmax_cross_entropy" if both else "sigmoid_cross_entropy",
             "layers": [{"concat" if both else "dot": towers}]}
    return model, {"type": "matches", "noise": rng.choice([0, 0.1, 1e6])}


def column(rng, kinds):
    """The definition of a column whose values are whole numbers or texts."""
    kind = rng.choice(kinds)
    if kind == "number":
        return {"as": "number", "scale": rng.choice(["none", "standard", "minmax"]), "missing": rng.choice([0, "mean", -1e6])}
    if kind == "bucket":
        found = {"as": "bucket", "edges": rng.choice([[0], [1, 2, 3], [-1e300, 0, 1e-300]]), "missing": "mean"}
    else:
        found = {"as": "category", "missing": "0"}
        if rng.random() < 0.5:
            return {**found, "embed": rng.choice([1, 2, 5, 4096 if rng.random() < 0.1 else 3]), "table": True}
        found["hash"] = rng.choice([1, 2, 50])
    if rng.random() < 0.5:
        found["embed"] = rng.choice([1, 3])
    return found


def head(rng, outputs):
    """The type and the loss of a model of columns, for `outputs` classes, or one number."""
    if rng.random() < 0.3:
        return {"type": "mlp", "hidden": [rng.choice([1, 4])], "outputs": outputs}
    if rng.random() < 0.5:
        return {"type": "softmax", "outputs": outputs}
    return {"type": "layers", "layers": [*some(rng, flat_layer, 2), {"dense": 1}], "outputs": 1,
            "loss": "sigmoid_cross_entropy"}


def rules_of_tables(rng, job):
    if not any("table" in column for column in job["data"]["columns"].values()):
        return
    job["train"]["table_optimizer"] = rng.choice(["sgd", "momentum", "adagrad", "row_adagrad", "lazy_adam", "ftrl"])
    if rng.random() < 0.5:
        job["train"]["tables"] = [{"match": "*", "expire_after_steps": rng.choice([0, 1, 2, 9000000000000000]),
                                   **rng.choice([{}, {"admit_after": 2, "admit_within_steps": rng.choice([1, 3, 9 * 10**15])},
                                                 {"admit_after": 1}])}]
    if job["train"]["table_optimizer"] == "ftrl":
        for key in ("l1", "l2", "beta"):
            put(job, f"train.ftrl.{key}", rng.choice([0, 1, 1e6, 1e-45, 1e-300]))


def criteo(rng, _folder):
    columns = {}
    for name in rng.sample(["I1", "I2", "I13"], rng.randint(0, 3)):
        columns[name] = column(rng, ["number", "bucket"])
    for name in rng.sample(["C1", "C2", "C3", "C26"], rng.randint(1, 3)):
        columns[name] = column(rng, ["category"])
    return head(rng, 2), {"type": "criteo-like", "columns": columns, "options": {"values": rng.choice([2, 3, 100])}}


def csv(rng, folder):
    rows = rng.choice([20, 100])
    value = lambda kind: "" if rng.random() < 0.1 else rng.choice(kind)
    lines = ["x,c,e,y"]
    for i in range(rows):
        number, name = value(["0", "-1", "1e30", "3.5", "1e-320", "7"]), value(["a", "bc", "\u00fc", "0"])
        lines.append(f"{number},{name},,{i % 2}")
    (folder / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = {"x": column(rng, ["number", "bucket"]), "c": column(rng, ["category"])}
    if rng.random() < 0.3:
        columns["e"] = {**column(rng, ["number", "bucket"]), "missing": rng.choice([0, 1, "mean"])}
    data = {"format": "csv", "train": str(folder / "rows.csv"), "label": {"column": "y"}, "columns": columns,
            "split": {"test": rng.choice([0.1, 0.5]), "validation": rng.choice([0, 0, 0.005, 0.3])}}
    return head(rng, 2), data


# Training.

def schedule(rng):
    """Keys of `train`, or of an entry of `train.before`, by their names in the latter."""
    kind = rng.choice(["constant", "linear", "linear", "cosine", "step", "exponential", "piecewise"])
    many, warmup = 9 * 10**15, rng.choice([0, 0, 1, 3, 10**12])
    found = {"learning_rate": rng.choice([1e-12, 0.1, 0.01, 1, 1e6]), "schedule.type": kind}
    if warmup:
        found["schedule.warmup_steps"] = warmup
    if kind == "cosine" or (kind == "linear" and rng.random() < 0.7):
        found["decay_steps"] = warmup + rng.choice([1, 2, 5, many - warmup])
        found["final_learning_rate"] = rng.choice([0, 0, 1e-300, 0.1, 1e6])
    elif kind in ("step", "exponential"):
        found["schedule.every_steps"] = rng.choice([1, 2, 100, many])
        found["schedule.factor"] = rng.choice([1e-310, 1e-307, 1e-300, 1e-20, 0.5, 1, 1000])
    elif kind == "piecewise":
        found["schedule.boundaries"] = [warmup + 1 + i for i in range(rng.choice([1, 3, 16]))]
        found["schedule.rates"] = [rng.choice([0, 1e-310, 0.1, 1e6]) for _ in found["schedule.boundaries"]]
    return found


def train(rng, job):
    most = min(job["data"].get("examples", 5), 70)
    slices = rng.choice([n for n in [1, 1, 2, 3, 5, 8, 64] if n <= most])
    batch = slices * rng.choice([n for n in [1, 1, 2, 7] if slices * n <= most])
    job["train"] = {"steps": rng.choice([1, 2, 5, 9]), "slices": slices, "batch": batch,
                    "optimizer": rng.choice(["sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam", "adamw",
                                             "lars", "lamb"])}
    for key, value in schedule(rng).items():
        put(job, f"train.{key}", value)
    if rng.random() < 0.25:
        steps = sorted(rng.sample([1, 2, 3, 5, 9 * 10**15], rng.randint(1, 2)))
        job["train"]["before"] = [{"until": step, **schedule(rng)} for step in steps]
    if rng.random() < 0.2:
        rule = {"match": "*", "learning_rate_factor": rng.choice([0, 1, 1e6]), "weight_decay_factor": rng.choice(["auto", 0, 1])}
        job["train"]["variables"] = [{**rule, "optimizer": rng.choice(["auto", "adagrad", "lars", "sgd"])}]
    if rng.random() < 0.3 and not any("table" in column for column in job["data"].get("columns", {}).values()):
        put(job, "train.ema", rng.choice([0.999999, 1e-9, 0.5]))
    if rng.random() < 0.5:
        job["data"]["shuffle"] = rng.choice(["permutation", "none", {"block": 1, "window": 1}, {"block": 3, "window": 2},
                                             {"block": 1 << 24, "window": 1 << 24}])
    if job["data"].get("columns"):
        rules_of_tables(rng, job)


def frequencies(rng, job):
    if rng.random() < 0.6:
        every = rng.choice([1, 2, 3, 9 * 10**15])
        job["evaluate"] = {"every_steps": every}
        job["checkpoint"].update(every_steps=rng.choice([every, 1]), keep=rng.choice([1, 2, 256]))
        if rng.random() < 0.5:
            job["checkpoint"]["best"] = rng.choice(["none", "loss", "accuracy"])
        if rng.random() < 0.3:
            put(job, "train.stop.patience", rng.choice([1, 2, 10**9]))
            put(job, "train.stop.metric", rng.choice(["loss", "accuracy"]))
        if rng.random() < 0.3:
            put(job, "train.target_accuracy", rng.choice([1, 1e-300, 0.5]))


def job_of_seed(seed, folder):
    """The job as an object; files that it reads are written into `folder`."""
    rng = random.Random(f"jobs {seed}")
    model, data = rng.choice([plain, plain, layers, layers, text, matches, criteo, csv])(rng, folder)
    job = {"name": "random", "seed": rng.choice([0, 1, 9 * 10**15]), "model": model, "data": data,
           "checkpoint": {}, "strategy": {"type": "local"}}
    if data.get("type") in ("synthetic", "matches", "criteo-like"):
        data.update(examples=rng.choice([1, 2, 5, 64]), test_examples=rng.choice([1, 3, 30]))
    train(rng, job)
    frequencies(rng, job)
    known = [item for item in sorted(keys().items()) if item[0] not in LEFT]
    for key, allowed in rng.sample(known, rng.choice([0, 0, 1, 1, 2])):
        value = edge(rng, key, allowed)
        if value is not None:
            put(job, key, value)
    return job
