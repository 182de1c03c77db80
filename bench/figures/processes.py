"""The processes of a measurement, which all end with it: programs that are asked for one measurement at a time, and
clusters that are paused in between."""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from figures.ratios import Missing

MARK = "TANIST_BENCH_MARK"
START_S = 600


class Workspace:
    """A folder, and the processes that were started with it. close() leaves none of them."""

    def __init__(self, build, parent):
        self.build = build
        self.folder = Path(tempfile.mkdtemp(prefix="tanist-bench.", dir=parent))
        self.mark = secrets.token_hex(8)
        self.environment = dict(os.environ, **{MARK: self.mark})

    def program(self, name):
        path = self.build / (name if name == "tanist" else f"bin/{name}")
        if not path.exists():
            raise Missing(f"{path} does not exist: run `cmake --build {self.build} --target tanist bench`")
        return str(path)

    def output_of(self, *command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              env=self.environment)
        if done.returncode != 0:
            raise Missing(f"{Path(command[0]).name} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def begin(self, name, *arguments):
        """A program of bench/ that runs until it is killed."""
        return subprocess.Popen([self.program(name), *arguments], env=self.environment)

    def job(self, name, job):
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(dict(job, name=name)))
        return str(path)

    def kill(self):
        """SIGKILL to all processes of this workspace, also to those that they started, until there are none."""
        wanted = f"{MARK}={self.mark}".encode()
        found = True
        while found:
            found = False
            for entry in Path("/proc").iterdir():
                try:
                    if entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                        os.kill(int(entry.name), signal.SIGKILL)
                        found = True
                except OSError:
                    continue

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Server:
    """A program that prints one number for each number of seconds that it reads."""

    def __init__(self, workspace, *command, greets=False):
        self.errors = open(workspace.folder / "server.err", "w+", encoding="utf-8")
        self.name = Path(command[0]).name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, env=dict(workspace.environment, TMPDIR=str(workspace.folder)),
                                        cwd=workspace.folder)
        self.greeting = self.line() if greets else None

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            text = self.errors.read().strip()
            raise Missing(f"{self.name} ended with {self.process.returncode}: {text[-500:]}")
        return line.strip()

    def ask(self, question):
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        return float(self.line())

    def rate(self, duration):
        return self.ask(duration)

    def close(self):
        self.process.kill()
        self.process.communicate()
        self.errors.close()


def steps_per_second(points):
    return (points[-1][0] - points[0][0]) / (points[-1][1] - points[0][1])


class Curves:
    """A run without an end in `folder`, whose curves show its speed. They were read up to `offset`."""

    folder, offset = None, 0

    def new_points(self):
        """Step and time of the points of the curves since the last call."""
        with open(self.folder / "metrics.jsonl", "rb") as curves:
            curves.seek(self.offset)
            text = curves.read()
        whole = text[:text.rfind(b"\n") + 1]
        self.offset += len(whole)
        lines = [json.loads(line) for line in whole.splitlines()]
        points = [line for line in lines if "steps_per_second" in line]
        return [(point["step"], seconds(point["time"])) for point in points]

    def rate(self, duration):
        """Steps per second of the next `duration` seconds; see points()."""
        return steps_per_second(self.points(duration))

    def points(self, duration):
        """Step and time of the points of the curves in the next `duration` seconds of a run that is not paused;
        longer if it makes fewer than three. The time in which it resumes does not count."""
        self.new_points()
        self.wait_point()
        begin = time.time()
        steps, end = {}, time.monotonic() + duration
        while len(steps) < 3 or time.monotonic() < end:
            time.sleep(min(duration, 0.5))
            # The last one of several points with the same time.
            steps.update((when, step) for step, when in self.new_points() if when >= begin)
            if time.monotonic() > end + START_S:
                raise Missing(f"the run made points of its curves at {len(steps)} times in {START_S} s")
        return [(step, when) for when, step in steps.items()]

    def wait_point(self):
        """The next points of the curves, at least one."""
        end = time.monotonic() + START_S
        while not (points := self.new_points()):
            if time.monotonic() > end:
                raise Missing(f"the run made no step in {START_S} s")
            time.sleep(0.02)
        return points


class Cluster(Curves):
    """A run without an end by `tanist run`."""

    def __init__(self, workspace, name, job):
        self.workspace, self.tanist = workspace, workspace.program("tanist")
        self.folder = workspace.folder / name
        self.job = workspace.job(name, job)
        self.errors = open(workspace.folder / f"{name}.err", "w+", encoding="utf-8")
        self.output = open(workspace.folder / f"{name}.out", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [self.tanist, "run", self.job, "--dir", str(self.folder), "-o", "json", "--set", "train.steps=1000000000"],
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.errors, env=workspace.environment)
        self.wait("the first steps", lambda status: status["phase"] == "running" and status["step"] >= 2)

    def command(self, name, *arguments):
        return subprocess.run([self.tanist, name, "--dir", str(self.folder), *arguments], capture_output=True, text=True,
                              check=False, env=self.workspace.environment)

    def status(self):
        """None: there is no answer yet."""
        done = self.command("status", "-o", "json")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def wait(self, what, condition, pause_s=0.02):
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            status = self.status()
            if status is not None and condition(status):
                return status
            if self.process.poll() is not None:
                break
            time.sleep(pause_s)
        self.errors.seek(0)
        raise Missing(f"the cluster did not reach {what} within {START_S} s: {self.errors.read().strip()[-500:]}")

    def pids(self, role):
        return [task["pid"] for task in self.status()["tasks"] if task["role"] == role]

    def pause(self):
        if self.command("pause").returncode == 0:
            self.wait("a pause", lambda status: status["phase"] == "paused")

    def rate_in_turn(self, duration):
        """The same of a cluster that is paused before and afterwards."""
        self.command("resume")
        try:
            return self.rate(duration)
        finally:
            self.pause()

    def stop(self):
        """Ends the run; its result."""
        self.command("stop")
        try:
            code = self.process.wait(START_S)
        except subprocess.TimeoutExpired:
            raise Missing(f"the cluster did not stop within {START_S} s") from None
        self.output.seek(0)
        text = self.output.read()
        if code != 0 or "{" not in text:
            raise Missing(f"the cluster ended with exit status {code}")
        return json.loads(text[text.find("{"):])

    def close(self):
        """The processes of the workspace end with it."""
        self.workspace.kill()
        self.process.communicate()
        self.errors.close()
        self.output.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class OneProcess(Curves):
    """A run without an end by `tanist run --local`; it is stopped except while it is measured."""

    def __init__(self, workspace, name, job):
        self.folder = workspace.folder / name
        with open(workspace.folder / f"{name}.err", "w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                [workspace.program("tanist"), "run", "--local", workspace.job(name, job), "--dir", str(self.folder), "--quiet",
                 "--set", "train.steps=1000000000"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, env=workspace.environment)
        end = time.monotonic() + START_S
        while not (self.folder / "metrics.jsonl").exists():
            if self.process.poll() is not None or time.monotonic() > end:
                text = (workspace.folder / f"{name}.err").read_text(encoding="utf-8").strip()
                raise Missing(f"the run in one process did not begin: {text[-500:]}")
            time.sleep(0.02)
        self.wait_point()
        self.process.send_signal(signal.SIGSTOP)

    def rate(self, duration):
        self.process.send_signal(signal.SIGCONT)
        try:
            return super().rate(duration)
        finally:
            self.process.send_signal(signal.SIGSTOP)


    def cost(self, steps):
        """Processor seconds of a step, on the average of at least `steps`; other load on the machine changes them little."""
        self.process.send_signal(signal.SIGCONT)
        try:
            first, before = self.wait_point()[-1][0], processor_seconds(self.process.pid)
            last = first
            while last < first + steps:
                last = self.wait_point()[-1][0]
            return (processor_seconds(self.process.pid) - before) / (last - first)
        finally:
            self.process.send_signal(signal.SIGSTOP)


def read_files_ms(folder):
    """The time that read() takes for all files of a folder."""
    memory = bytearray(1 << 20)
    start = time.monotonic()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with open(path, "rb", buffering=0) as file:
                while file.readinto(memory):
                    pass
    return 1000 * (time.monotonic() - start)


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def seconds(text):
    """A time of the curves, 2026-11-21T22:56:30.167Z, as that of time.time()."""
    return datetime.fromisoformat(text).timestamp()


def processor_times():
    """Seconds of all processors since the machine started: all, and those of the idle ones."""
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(number) for number in stat.readline().split()[1:9]]  # The rest is part of the first two.
    per_second = os.sysconf("SC_CLK_TCK")
    return sum(ticks) / per_second, (ticks[3] + ticks[4]) / per_second


def processors_used(window_s):
    """Processors that programs use at this time, measured for `window_s` seconds."""
    every, idle = processor_times()
    time.sleep(window_s)
    more, more_idle = processor_times()
    return round(max(0.0, (more - every - (more_idle - idle)) / window_s), 1)


def print_progress(text):
    print(text, file=sys.stderr, flush=True)
