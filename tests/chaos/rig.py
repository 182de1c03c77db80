"""What the chaos programs share: start a run, ask it, kill parts of it, and see that nothing is left.

A run is one `tanist run JOB --dir DIR -o json`. Every process that descends from it carries a mark in
its environment, so that what outlives the run is found wherever it went.
"""

import json
import os
import secrets
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARK = "TANIST_CHAOS_MARK"


class Failure(Exception):
    """A promise was broken; the words say which."""


def marked(mark):
    """The processes that carry `mark`: {pid: command line}."""
    found = {}
    needle = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if needle in (entry / "environ").read_bytes().split(b"\0"):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found[int(entry.name)] = words.strip()
        except OSError:
            continue  # It ended while we looked, or is not ours.
    return found


def shared_memory():
    """Names in /dev/shm that look like ours."""
    try:
        return {name for name in os.listdir("/dev/shm") if "tanist" in name}
    except OSError:
        return set()


def sanitizer_options(folder):
    """In a sanitized build every process of the run writes what it finds to files below `folder`."""
    tests = ROOT / "tests"
    where = f"log_path={folder}/sanitizer"
    return {"ASAN_OPTIONS": f"{where}:detect_stack_use_after_return=1",
            "LSAN_OPTIONS": f"suppressions={tests}/lsan.supp:print_suppressions=0",
            "UBSAN_OPTIONS": f"{where}:print_stacktrace=1",
            "TSAN_OPTIONS": f"{where}:suppressions={tests}/tsan.supp:history_size=4"}


class Run:
    """One run of a job in a folder of its own, and what must be true after it."""

    def __init__(self, program, job, settings, folder, extra=()):
        self.program = str(Path(program).resolve())
        self.job = str(Path(job).resolve())
        self.settings = [word for setting in settings for word in ("--set", setting)]
        self.extra = list(extra)
        self.folder = Path(folder)
        self.dir = self.folder / "run"
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.mark = secrets.token_hex(8)
        self.process = None
        self.started = 0.0
        self.starts = 0
        self.shm_before = shared_memory()

    def start(self, resume=False):
        """Start it, or start it again after everything has died."""
        command = [self.program, "run", self.job, "--dir", str(self.dir), "-o", "json",
                   *self.settings, *self.extra] + (["--resume"] if resume else [])
        environment = dict(os.environ, TMPDIR=str(self.scratch), **{MARK: self.mark},
                           **sanitizer_options(self.folder))
        self.starts += 1
        with open(self.folder / f"out.{self.starts}", "wb") as out, \
                open(self.folder / f"log.{self.starts}", "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=log,
                                            cwd=self.scratch, env=environment)
        self.started = time.monotonic()

    def alive(self):
        return self.process.poll() is None

    def wait(self, limit_s):
        """Wait for the end, and return the result."""
        try:
            code = self.process.wait(timeout=max(0.1, limit_s))
        except subprocess.TimeoutExpired:
            raise Failure(f"the run has not ended after {limit_s:.0f} s") from None
        if code != 0:
            raise Failure(f"exit status {code}")
        lines = (self.folder / f"out.{self.starts}").read_text()
        start = lines.find("{")
        try:
            result, _ = json.JSONDecoder().raw_decode(lines[max(start, 0):])
        except ValueError:
            raise Failure("the last thing on stdout is no JSON object") from None
        reports = [path.read_text(errors="replace") for path in self.folder.glob("sanitizer*")]
        if reports:
            raise Failure(f"{len(reports)} sanitizer reports; the first:\n{reports[0][:4000]}")
        if result.get("status") != "done":
            raise Failure(f"status is {result.get('status')!r}, not 'done'")
        return result

    def leftovers(self, patience_s=3.0):
        """What is left of a run that has ended: processes, sockets, files outside its folder."""
        end = time.monotonic() + patience_s
        while True:
            processes = marked(self.mark)
            if not processes or time.monotonic() > end:
                break
            time.sleep(0.05)
        found = [f"process {pid}: {words[:120]}" for pid, words in processes.items()]
        found += [f"file {path}" for path in self.scratch.rglob("*") if path.is_file()]
        if self.dir.exists():
            found += [f"socket {path}" for path in self.dir.rglob("*")
                      if stat.S_ISSOCK(path.lstat().st_mode)]
        if not processes and not others_running(self.program):
            found += [f"shared memory {name}" for name in shared_memory() - self.shm_before]
        return found

    def kill_all(self, number=signal.SIGKILL):
        """Everything of this run at once."""
        victims = marked(self.mark)
        for pid in victims:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        return len(victims)

    def log_tail(self, lines=25):
        """The last words of the run, for people."""
        words = (self.folder / f"log.{self.starts}").read_text(errors="replace").splitlines()
        return "\n".join("    | " + line for line in words[-lines:])

    def clean(self):
        """End what still runs and throw the folder away."""
        if self.process is not None:
            self.kill_all()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def others_running(program):
    """True if somebody else runs `program` now; then shared names cannot be told apart."""
    name = os.path.basename(program)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "comm").read_text().strip() == name:
                    return True
            except OSError:
                continue
    return False


def new_folder():
    return tempfile.mkdtemp(prefix="tanist-chaos.")
