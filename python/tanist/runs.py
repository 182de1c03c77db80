"""Runs: start one, follow its metrics and events, get its result and its weights."""

import csv
import json
import subprocess
import tempfile
import time
from pathlib import Path

from tanist import arrays
from tanist.plots import plot
from tanist.program import Error, call, call_json, find, message_of

POLL_S = 0.2


class Result(dict):
    """The result of a run, as `tanist run -o json` prints it; its keys are attributes, too."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the result has no {name}: it has {', '.join(self)}") from None


def assignment(key, value):
    """One --set of the program. Texts need no quotes."""
    return f"{key}={value if isinstance(value, str) else json.dumps(value)}"


def start(job, dir=None, set=None, resume=False, local=False, options=(), program=None):
    """Start a run in the background.

    `job`: the path of a job file, or a dictionary. `dir`: the folder of the run; without one, runs/NAME. `set`: keys of
    the job to be replaced. `local`: in one process, without ZooKeeper. `options`: more options of `tanist run`.
    """
    temporary = None
    if isinstance(job, dict):
        temporary = tempfile.TemporaryDirectory(prefix="tanist-job.")
        path = Path(temporary.name) / "job.json"
        path.write_text(json.dumps(job))
        name = job.get("name", "job")
    else:
        path = Path(job)
        name = json.loads(path.read_text()).get("name", "job")
    dir = Path(dir) if dir is not None else Path("runs") / (set or {}).get("name", name)
    arguments = [find(program), "run", str(path), "--dir", str(dir), "--quiet", "-o", "json"]
    for key, value in (set or {}).items():
        arguments += ["--set", assignment(key, value)]
    arguments += ["--resume"] if resume else []
    arguments += ["--local"] if local else []
    files = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
    before = (dir / "metrics.jsonl").stat().st_size if (dir / "metrics.jsonl").exists() else 0
    process = subprocess.Popen([*arguments, *options], stdout=files[0], stderr=files[1])
    return Run(dir, program=program, started=Started(process, files, temporary, before))


def open_run(dir, program=None):
    """A run that exists already, of any program, running or not."""
    dir = Path(dir)
    if not (dir / "job.json").exists():
        raise FileNotFoundError(f"{dir} has no job.json: give the folder of a run")
    return Run(dir, program=program)


class Started:
    """The process of a run that this program has started, and its output."""

    def __init__(self, process, files, job, before):
        self.process, self.files, self.job = process, files, job
        self.before = before  # The size of metrics.jsonl at the start.
        self.output = self.error = None

    def finish(self, timeout):
        """Wait for the end and read what it has printed; returns the exit code."""
        code = self.process.wait(timeout)
        if self.output is None:
            for file in self.files:
                file.seek(0)
            self.output, self.error = (file.read() for file in self.files)
            for file in self.files:
                file.close()
            if self.job is not None:
                self.job.cleanup()
        return code


def _write_rows(path, rows):
    """Rows of numbers, or dictionaries, whose keys become the line of names."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        if rows and isinstance(rows[0], dict):
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        else:
            csv.writer(file).writerows([repr(float(value)) for value in row] for row in rows)


class Run:
    """A run in a folder."""

    def __init__(self, dir, program=None, started=None):
        self.dir = Path(dir)
        self._program = program
        self._started = started

    def __repr__(self):
        return f"tanist.Run({str(self.dir)!r})"

    # Its end.

    @property
    def running(self):
        """Whether the process that start() has begun still runs."""
        return self._started is not None and self._started.process.poll() is None

    def wait(self, timeout=None):
        """Wait for the end of a run that start() has begun. Returns its result; raises tanist.Error if it failed."""
        if self._started is None:
            return self.result
        code = self._started.finish(timeout)
        if code != 0:
            raise Error(code, message_of(self._started.error))
        return Result(json.loads(self._started.output))

    @property
    def result(self):
        """The result of a run that has ended; None before."""
        try:
            return Result(json.loads((self.dir / "result.json").read_text()))
        except FileNotFoundError:
            return None

    def stop(self):
        """End it early, with a final checkpoint."""
        call(["stop", "--dir", self.dir], self._program)

    def terminate(self):
        """Ask the processes of a run that start() has begun to leave without the loss of a step; it can be resumed."""
        if self.running:
            self._started.process.terminate()
            self._started.finish(None)

    # Metrics.

    def _entries(self, text):
        for line in text.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # It was cut off by a kill.
            if isinstance(entry, dict):
                yield entry

    def watch(self):
        """The lines of metrics.jsonl as dictionaries, as they are written, until the run ends.

        Of a run that start() has begun, those of this start; of another one, all lines up to now.
        """
        path, rest = self.dir / "metrics.jsonl", ""
        at = self._started.before if self._started is not None else 0
        first = self._identity(path)
        while True:
            running = self.running
            if self._identity(path) != first:
                # A finished run was moved aside, and the file is a new one.
                first, at, rest = self._identity(path), at if first is None else 0, ""
            if path.exists():
                with open(path, encoding="utf-8", errors="replace") as file:
                    file.seek(at)
                    rest += file.read()
                    at = file.seek(0, 1)
            whole, newline, rest = rest.rpartition("\n")
            yield from self._entries(whole + newline)
            if not running:
                return
            time.sleep(POLL_S)

    @staticmethod
    def _identity(path):
        try:
            return path.stat().st_ino
        except FileNotFoundError:
            return None

    def points(self):
        """The metrics by step, {step: {name: value}}, in the order of steps. Steps that were done again appear once."""
        found = {}
        path = self.dir / "metrics.jsonl"
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        for entry in self._entries(text):
            step = entry.get("step")
            if entry.get("event") == "loaded":
                found = {known: point for known, point in found.items() if known <= step}
            elif "event" not in entry and step is not None:
                found.setdefault(step, {}).update(
                    {name: value for name, value in entry.items() if name not in ("step", "time")})
        return dict(sorted(found.items()))

    def events(self):
        """The lines of metrics.jsonl with an event: elections, recoveries, checkpoints, ..."""
        text = (self.dir / "metrics.jsonl").read_text(encoding="utf-8", errors="replace")
        return [entry for entry in self._entries(text) if "event" in entry]

    def plot(self, *others, metric="loss", log=False):
        """The curves of this run and others as a picture; a notebook shows it."""
        return plot(self, *others, metric=metric, log=log)

    def _repr_html_(self):
        return self.plot()._repr_html_() if self.points() else f"<pre>{self!r}: no points yet</pre>"

    # The model.

    def weights(self, checkpoint=None, state=False):
        """The parameters of the last checkpoint, or of another one, by name: numpy arrays, or without numpy
        tanist.arrays.Array. With `state` also the optimizer's."""
        with tempfile.TemporaryDirectory(prefix="tanist-weights.") as folder:
            path = Path(folder) / "weights.npz"
            options = ["--checkpoint", checkpoint] if checkpoint is not None else []
            options += ["--state"] if state else []
            call(["export", self.dir, "--to", path, *options], self._program)
            return arrays.load_npz(path)

    def evaluate(self, *options):
        """The metrics of the newest checkpoint on the test data, as `tanist evaluate -o json` prints them."""
        return call_json(["evaluate", self.dir, *options], self._program)

    def predict(self, data, checkpoint=None):
        """The predictions of examples, in their order: dictionaries with class and probabilities (class_name where classes have names), or with
        outputs.

        `data`: a file as `tanist predict --data` takes it, rows of numbers, or, of a run with data.format csv,
        dictionaries with a value for each column; None is a missing value.
        """
        options = ["--checkpoint", checkpoint] if checkpoint is not None else []
        with tempfile.TemporaryDirectory(prefix="tanist-predict.") as folder:
            written = Path(folder) / "rows.csv"
            if not isinstance(data, (str, Path)):
                rows, data = list(data), written
                if not rows:
                    return []
                _write_rows(data, rows)
            try:
                out = call(["predict", self.dir, "--data", data, "-o", "json", *options], self._program)
            except Error as error:  # The caller does not know the temporary file.
                raise Error(error.code, str(error).replace(str(written), "the rows, written as CSV")) from None
        return [json.loads(line) for line in out.splitlines()]

    def export(self, path, *options):
        """`tanist export`: the format is that of the name's end."""
        call(["export", self.dir, "--to", path, *options], self._program)
