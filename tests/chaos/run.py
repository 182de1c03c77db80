"""One `tanist run` in a folder of its own: start it, wait for its result, and check that nothing is left.

Each process that descends from the run has a mark in its environment, so that a process that outlives
the run is found.
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARK = "TANIST_CHAOS_MARK"


class Failure(Exception):
    """A check failed; the text is the reason."""


def marked(mark):
    """The processes that have `mark`: {pid: command line}."""
    found = {}
    needle = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if needle in (entry / "environ").read_bytes().split(b"\0"):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found[int(entry.name)] = command.strip()
        except OSError:
            continue  # It has ended, or belongs to another user.
    return found


def shared_memory():
    """The names in /dev/shm that contain "tanist"."""
    try:
        return {name for name in os.listdir("/dev/shm") if "tanist" in name}
    except OSError:
        return set()


def others_running(program):
    """True if `program` runs elsewhere; then shared memory cannot be attributed."""
    name = os.path.basename(program)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "comm").read_text().strip() == name:
                    return True
            except OSError:
                continue
    return False


def sanitizer_options(folder):
    """Processes of a sanitized build write their reports to files in `folder`."""
    tests = ROOT / "tests"
    where = f"log_path={folder}/sanitizer"
    return {"ASAN_OPTIONS": f"{where}:detect_stack_use_after_return=1",
            "LSAN_OPTIONS": f"suppressions={tests}/lsan.supp:print_suppressions=0",
            "UBSAN_OPTIONS": f"{where}:print_stacktrace=1",
            "TSAN_OPTIONS": f"{where}:suppressions={tests}/tsan.supp:history_size=4:atexit_sleep_ms=0"}


class Run:
    def __init__(self, program, job, settings):
        self.program = str(Path(program).resolve())
        self.job = str(Path(job).resolve())
        self.settings = [word for setting in settings for word in ("--set", setting)]
        self.folder = Path(tempfile.mkdtemp(prefix="tanist-chaos."))
        self.dir = self.folder / "run"
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()
        self.mark = secrets.token_hex(8)
        self.process = None
        self.shm_before = shared_memory()

    def start(self, environment):
        """Start it with additional variables in its environment."""
        command = [self.program, "run", self.job, "--dir", str(self.dir), "-o", "json", *self.settings]
        with open(self.folder / "out", "wb") as out, open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=log, cwd=self.scratch,
                env=dict(os.environ, TMPDIR=str(self.scratch), **{MARK: self.mark}, **environment,
                         **sanitizer_options(self.folder)))

    def wait(self, limit_s):
        """Wait for the end, and return the result."""
        try:
            code = self.process.wait(timeout=max(0.1, limit_s))
        except subprocess.TimeoutExpired:
            raise Failure(f"the run has not ended after {limit_s:.0f} s") from None
        if code != 0:
            raise Failure(f"exit status {code}")
        text = (self.folder / "out").read_text()
        try:
            result, _ = json.JSONDecoder().raw_decode(text[max(text.find("{"), 0):])
        except ValueError:
            raise Failure("the output is not a JSON object") from None
        reports = [path.read_text(errors="replace") for path in self.folder.glob("sanitizer*")]
        if reports:
            raise Failure(f"{len(reports)} sanitizer reports; the first:\n{reports[0][:4000]}")
        if result.get("status") != "done":
            raise Failure(f"status is {result.get('status')!r}, not 'done'")
        return result

    def stop(self, limit_s=120):
        """Stop training where it is, and return the result."""
        subprocess.run([self.program, "stop", "--dir", str(self.dir)], check=False, timeout=limit_s,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self.wait(limit_s)

    def check_running(self):
        if self.process.poll() is not None:
            raise Failure(f"the run ended by itself with exit status {self.process.returncode}")

    def train_local(self, settings):
        """The result of the same job in one process, without any fault."""
        command = [self.program, "run", "--local", self.job, "--dir", str(self.folder / "local"), "-o", "json", "--quiet"]
        for setting in settings:
            command += ["--set", setting]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failure(f"the undisturbed run ended with exit status {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def leftovers(self, patience_s=3.0):
        """Processes, sockets and files that exist although the run has ended."""
        end = time.monotonic() + patience_s
        while (processes := marked(self.mark)) and time.monotonic() < end:
            time.sleep(0.05)
        found = [f"process {pid}: {command[:120]}" for pid, command in processes.items()]
        found += [f"file {path}" for path in self.scratch.rglob("*") if path.is_file()]
        if self.dir.exists():
            found += [f"socket {path}" for path in self.dir.rglob("*")
                      if stat.S_ISSOCK(path.lstat().st_mode)]
        if not processes and not others_running(self.program):
            found += [f"shared memory {name}" for name in shared_memory() - self.shm_before]
        return found

    def log_tail(self, lines=25):
        """The end of the log, for people."""
        text = (self.folder / "log").read_text(errors="replace").splitlines()
        return "\n".join("    | " + line for line in text[-lines:])

    def kill(self):
        """Kill all processes of the run."""
        for pid in marked(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.process is not None:
            self.process.wait()

    def clean(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def parser_for(description):
    """The options that all long tests have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/tanist"))
    parser.add_argument("--job", default=str(ROOT / "examples/quick.json"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    parser.exit_on_error = False
    return parser


def attack_run(arguments, settings, attack):
    """Start a run and call `attack(run)`, which raises Failure if a check fails; then remove the run's folder."""
    run = Run(arguments.program, arguments.job, settings)
    try:
        run.start({})
        attack(run)
    except Failure:
        print(run.log_tail(), file=sys.stderr)
        raise
    finally:
        if arguments.keep:
            print(f"kept: {run.folder}")
            run.kill()
        else:
            run.clean()


def run_test(name, parse, test):
    """Call `test(parse())`, and return the exit status: 0 passed, 1 failed, 128 bad arguments."""
    try:
        arguments = parse()
    except argparse.ArgumentError as problem:
        print(f"{name}: {problem}", file=sys.stderr)
        return 128
    try:
        test(arguments)
    except Failure as problem:
        print(f"FAILED: {problem}")
        return 1
    return 0
