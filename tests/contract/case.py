"""The base of the tests of the program: a folder, processes that end with the test, and waits for the run.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import contextlib
import functools
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import evidence

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("TANIST_PROGRAM", str(ROOT / "build/tanist"))
# The program that observes a run, and that computes in one process what its result is compared with. test.sh names the
# release build when the run itself is sanitized: `status`, which waits repeat, would take one of two cores from the run.
REFERENCE = os.environ.get("TANIST_REFERENCE", PROGRAM)
# A ZooKeeper server for the runs of all tests, which test.sh starts: most of the processor time of a short run is the
# start of its servers. Each run has a folder of its own there. Without it, each run starts its own servers.
ZOOKEEPER = os.environ.get("TANIST_TEST_ZOOKEEPER", "")
ZNODE = os.environ.get("TANIST_ZNODE", str(ROOT / "build/bin/znode"))
QUICK = str(ROOT / "examples/quick.json")
FASHION = str(ROOT / "examples/fashion-mnist.json")
LONG = ["--set", "train.steps=50000000"]
# A norm that no gradient has: the same parameters, but a ps that is killed loads a checkpoint (P13).
COLD = ["--set", "train.clip_norm=1000000"]
# For runs in which nothing but what the test kills may be lost: a process that a busy machine does not run for seconds
# keeps its session. The death of a process is noticed whatever the timeout is.
STEADY = ["--set", "zookeeper.session_timeout_ms=60000"]
# For one process that computes what a run without an end has computed: it may have been a long one.
FEW = ["--set", "checkpoint.every_steps=100000"]
MARK = "TANIST_TEST_MARK"


def patience(seconds):
    """The bound of a wait: builds with sanitizers are several times slower (tests/CMakeLists.txt)."""
    return seconds * int(os.environ.get("TANIST_TEST_PATIENCE", "1"))


def long(case):
    """A case, or a class of cases, that takes long and has little of its own to find under a sanitizer: it is left out where
    test.sh leaves out the tests with the label "long" (tests/CMakeLists.txt). All others run it."""
    return None if os.environ.get("TANIST_TEST_WITHOUT") == "long" else case


def own_servers(case):
    """A case, or a class of cases, whose runs start their own servers even if there is a shared one: it stops or inspects
    them, removes the folder of a run, or kills a run and starts it again, for sessions of killed nodes may remain."""
    case.own_servers = True
    return case


def some(rounds, count):
    """The rounds of a loop in a case; the first `count` of them where long cases are left out."""
    return rounds[:count] if os.environ.get("TANIST_TEST_WITHOUT") == "long" else rounds


class Cli(unittest.TestCase):
    """Each test has a folder of its own, and no process is left running after it."""

    target = ("--dir", "run")  # Names the cluster on the command line.

    def __init__(self, name="runTest"):
        super().__init__(name)
        method = getattr(self, name, None)
        if method is not None:
            setattr(self, name, functools.wraps(method)(functools.partial(self.keep_if_it_fails, method)))

    def keep_if_it_fails(self, method):
        """Runs a case; if it fails, what it has left is kept before its processes are killed."""
        try:
            method()
        except unittest.SkipTest:
            raise
        except Exception:
            evidence.keep(f"{Path(sys.argv[0]).stem}-{type(self).__name__}.{self._testMethodName}", self.folder)
            raise

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tanist-cli."))
        self.mark = secrets.token_hex(8)
        self.environment = dict(os.environ, **{MARK: self.mark})
        self.addCleanup(self.clean)

    def clean(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.folder, ignore_errors=True)

    def processes(self):
        """The processes that this test has started, directly or not."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and f"{MARK}={self.mark}".encode() in \
                        (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    @staticmethod
    def command_line(pid):
        """The arguments of a process; none when it has ended."""
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
        except OSError:
            return []

    # Commands.

    def environment_of(self, arguments, more):
        """The environment of a command. A run uses the shared server, if there is one."""
        shared = {}
        own = any(hasattr(it, "own_servers") for it in (self, getattr(self, self._testMethodName)))
        if ZOOKEEPER and not own and "run" in arguments[:1] and "--dir" in arguments:
            directory = Path(arguments[arguments.index("--dir") + 1]).name
            shared["TANIST_ZK"] = f"{ZOOKEEPER}/{self.mark}-{directory}"
        return {**self.environment, **shared, **(more or {})}

    def tanist(self, *arguments, timeout=300, program=PROGRAM, **more):
        """A command that the machine, or its ZooKeeper, was too busy for during seconds is given again."""
        environment = self.environment_of(arguments, more.pop("env", None))
        for _ in range(20):
            result = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=patience(timeout),
                                    cwd=self.folder, env=environment, check=False, **more)
            if "ZooKeeper did not answer within" not in result.stderr:
                break
        return result

    def succeeds(self, *arguments, **more):
        """The command exits with 0; returns its output."""
        result = self.tanist(*arguments, **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def alone(self, job, directory, *options, **more):
        """The result of a run to its end in one process: the bits that a cluster must reach."""
        return json.loads(self.succeeds("run", job, "--local", "--dir", directory, "-q", "-o", "json", *options,
                                        program=REFERENCE, **more))

    def refused(self, code, expected, *arguments, **more):
        """The command exits with `code`; its only message contains each of `expected`."""
        result = self.tanist(*arguments, **more)
        lines = [line for line in result.stderr.splitlines() if line.startswith("tanist")]
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(len(lines), 1, result.stderr)
        for text in expected:
            self.assertIn(text, lines[0])
        self.assertEqual(result.stdout, "")

    def znode(self, *arguments):
        """A client of ZooKeeper that changes znodes of the run as another program would."""
        return subprocess.run([ZNODE, self.zookeeper_of_run(), *arguments], capture_output=True, text=True,
                              timeout=patience(120), check=False, cwd=self.folder, env=self.environment)

    def zookeeper_of_run(self):
        return json.loads((self.folder / "run/run.json").read_text())["zookeeper"]

    def job(self, text):
        path = self.folder / "job.json"
        path.write_text(text)
        return str(path)

    # Processes in the background.

    def spawn(self, *arguments, env=None, **more):
        """The program in the background, to the end of the test at most. Its output goes to pipes."""
        process = subprocess.Popen([PROGRAM, *arguments], text=True, cwd=self.folder,
                                   env=self.environment_of(arguments, env),
                                   **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})
        self.addCleanup(self.kill_and_read, process, getattr(more.get("stderr"), "name", None))
        return process

    def start(self, *options):
        """The run of quick.json in the folder "run"."""
        return self.spawn("run", QUICK, "--dir", "run", "-o", "json", *options)

    def begin(self, *options):
        """A run without an end that has reached its first step."""
        run = self.start(*LONG, *options)
        self.wait_step()
        return run

    def start_ensemble(self):
        """The address of the servers of another run, for agents. The run does not take the processors: it is paused."""
        self.begin(*STEADY, "--set", "name=other")
        self.succeeds("pause", *self.target)
        return self.zookeeper_of_run()

    def end(self, run):
        """The run is stopped and ends without an error; returns its result."""
        self.succeeds("stop", *self.target)
        return self.result(run)

    def result(self, run, timeout=300):
        """The run ends without an error; returns its result. It may have as many steps as one without an end had made
        when it was stopped."""
        out, errors = run.communicate(timeout=patience(timeout))
        self.assertEqual(run.returncode, 0, errors)
        return json.loads(out)

    @staticmethod
    def kill_and_read(process, log=None):
        """A test that failed may have left it running, or failed because it ended. `log`: the file of its errors."""
        ended = process.poll() is not None
        unread = ended and process.stderr is not None and not process.stderr.closed
        process.kill()
        errors = process.communicate()[1]
        if ended and log is not None and Path(log).is_file():
            errors, unread = Path(log).read_text(encoding="utf-8"), process.returncode != 0
        if unread:
            print(f"{' '.join(process.args)} had ended with {process.returncode}:\n{errors}", file=sys.stderr)

    def freeze(self, pid):
        """Stop the process; it is in no system call when this returns."""
        os.kill(pid, signal.SIGSTOP)
        tasks = Path(f"/proc/{pid}/task")
        states = lambda: {(task / "stat").read_text().rpartition(")")[2].split()[0] for task in tasks.iterdir()}
        self.wait_for("the stopped process", lambda: states() == {"T"})

    @staticmethod
    def thaw(pid):
        """The stopped process continues, unless its session ended meanwhile and the agent has killed it (S4)."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    # The state of the run, and waits for it.

    def status(self, target=None):
        """None: the command failed."""
        result = self.tanist("status", *(target or self.target), "-o", "json", program=REFERENCE)
        return json.loads(result.stdout) if result.returncode == 0 else None

    def live_status(self):
        """The first status that the servers of a run give."""
        return self.wait_status("a run", is_live)

    def wait_server(self):
        """The process of the first ZooKeeper server of the run. A busy server may not answer one question for it."""
        first = lambda status: status["zookeeper"]["servers"][0]["pid"]
        return first(self.wait_status("the pid of a server", lambda status: is_live(status) and first(status)))

    def newest_checkpoint(self):
        """The id of the newest committed checkpoint, 0 if none was; waits until the run answers."""
        return self.live_status()["checkpoint"]["id"]

    def history(self):
        """The entries of the history in the folder "run". Old ones move to other files; a last line may be incomplete."""
        entries = {}
        files = (self.folder / "run").glob("history.jsonl*")
        for path in sorted(files, key=lambda path: int("0" + path.suffix[1:].replace("jsonl", "")), reverse=True):
            with contextlib.suppress(FileNotFoundError):
                for line in path.read_text().splitlines():
                    with contextlib.suppress(ValueError):
                        line = json.loads(line)
                        entries[line["folder"], line["number"]] = line["entry"]
        return list(entries.values())

    def wait_for(self, what, condition, limit_s=120):
        """The first value of `condition` that is true. It is asked once more after the limit: until then this process
        may have been stopped."""
        end = time.monotonic() + patience(limit_s)
        while True:
            last = time.monotonic() > end
            if found := condition():
                return found
            if last:
                return self.fail(f"not within {patience(limit_s)} s: {what}{self.details()}")
            time.sleep(0.05)

    def details(self):
        """Printed by a wait that failed. Runs of some tests write their messages to the file "progress"."""
        result = self.tanist("status", *self.target)
        progress = self.folder / "progress"
        return f"\n{result.stdout}{result.stderr}{progress.read_text() if progress.exists() else ''}"

    def wait_status(self, what, condition, target=None):
        """The first status that meets the condition."""
        def matching():
            status = self.status(target)
            return status if status is not None and condition(status) else None
        return self.wait_for(what, matching)

    def wait_step(self, least=1, target=None):
        """The first status of a running cluster that has reached a step."""
        return self.wait_status(f"step {least}", lambda status: is_running(status) and status["step"] >= least, target)

    def wait_step_or_end(self, run, least=1):
        """Whether a run that ends by itself was seen at a step; False: it has ended before."""
        def seen():
            status = self.status()
            return status is not None and is_running(status) and status["step"] >= least
        return self.wait_for(f"step {least}, or the end", lambda: [True] if seen() else
                             [False] if run.poll() is not None else None)[0]

    def wait_tasks(self):
        """The first status of a running cluster in which each task has a process."""
        return self.wait_status("a process for each task", lambda status: is_running(status) and
                                all(task["pid"] for task in status["tasks"]))

    def wait_pid(self, name, but=None):
        """The process of a task of a live run, another one than `but`."""
        return pids(self.wait_status(f"another {name}", lambda status: is_live(status) and
                                     pids(status)[name] not in (None, but)))[name]

    def wait_process(self, role, index, but=None):
        """The process of a task, another one than `but`, as soon as it exists."""
        want = [role.encode(), b"--index", str(index).encode()]
        return self.wait_for(f"another {role}", lambda: next(
            (pid for pid in self.processes() if pid != but and self.command_line(pid)[1:4] == want), None))

    def kill_task(self, name):
        """SIGKILL to a task, or to the `chief`; to none if it has no process, or the run ends meanwhile."""
        status = self.status()
        if status is not None and not is_live(status):
            return
        chief = status and status["chief"] and status["chief"]["task"]
        pid = pids(status).get(chief if name == "chief" else name) if status else None
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def kill_and_wait(self, *names):
        """SIGKILL to tasks of a live run; returns once each has another process."""
        before = {name: self.wait_pid(name) for name in names}
        for pid in before.values():
            with contextlib.suppress(ProcessLookupError):  # A busy machine may have lost it by itself.
                os.kill(pid, signal.SIGKILL)
        for name, pid in before.items():
            self.wait_pid(name, but=pid)

    def kill_in_the_middle(self, *names, steps=1):
        """SIGKILL to tasks of a run without an end, or to the `chief`; returns the status once they were started again
        and training has advanced by `steps`."""
        chief = self.wait_tasks()["chief"]["task"]
        self.kill_and_wait(*(chief if name == "chief" else name for name in names))
        return self.wait_step(self.wait_step()["step"] + steps)

    def kill_run(self, run, but=()):
        """SIGKILL to the agent of a run; returns once all processes have ended, except those in `but`."""
        run.kill()
        run.communicate(timeout=patience(120))
        self.check_no_process_left(but)

    def memory_peak(self, name):
        """The most bytes of memory that a task has used since its start, without those of its program's file."""
        with open(f"/proc/{self.wait_pid(name)}/status", encoding="ascii") as file:
            kib = {line.split(":")[0]: int(line.split()[1]) for line in file if line.startswith(("VmHWM", "RssFile"))}
        return 1024 * (kib["VmHWM"] - kib["RssFile"])

    def check_it_continues(self):
        """Another checkpoint is committed from here on."""
        before = self.newest_checkpoint()
        self.wait_for("another checkpoint", lambda: self.newest_checkpoint() > before)

    def check_no_process_left(self, but=()):
        self.wait_for("the end of all processes", lambda: set(self.processes()) <= set(but))


def small_table_job(train, **sections):
    """The job of examples/ctr/wide-deep.json, whose model has tables, with few examples and rows, and other sections."""
    job = json.loads((ROOT / "examples/ctr/wide-deep.json").read_text(encoding="utf-8"))
    job["data"].update({"examples": 20000, "test_examples": 1000, "options": {"values": 1000}})
    job["train"].update({"batch": 32, **train})
    return {**job, "zookeeper": {"servers": 1}, "strategy": {"type": "ps"}, **sections}


def is_live(status):
    """Whether the servers of the run have answered; the record of a run that is over or begins may be older."""
    return "recorded_at" not in status


def is_running(status):
    return is_live(status) and status["phase"] == "running" and status["chief"]


def pids(status):
    """The process of each task by its name; None for a task without a process."""
    return {f"{task['role']}:{task['index']}": task["pid"] for task in status["tasks"]}
