"""Training runs with two workers each, of Tanist and of its peers: start, kill a worker, see which steps are done."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
STARTUP = {"TORCHFT_MANAGER_PORT": "0", "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
JOB = {
    "name": "kills", "strategy": {"type": "mirror"},
    "model": {"type": "mlp", "inputs": 784, "hidden": [128], "outputs": 10},
    "data": {"type": "synthetic", "examples": 20000, "test_examples": 100},
    "train": {"steps": 1000000000, "batch": 128, "slices": 2, "optimizer": "adam", "learning_rate": 0.001},
    "checkpoint": {"every_steps": 1000}, "metrics": {"every_steps": 1}, "cluster": {"workers": 2, "coordinators": 2},
}


class Missing(Exception):
    """This system cannot be measured here; the text has the reason."""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def needs(python, module):
    done = subprocess.run([python, "-c", f"import {module}; print({module}.__version__ if hasattr({module}, "
                           "'__version__') else '')"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Missing(f"{python} has no {module}")
    return done.stdout.split()[-1] if done.stdout.split() else ""


class Peer:
    """Processes that record their steps in files. `supervise` starts those again that have ended, as an operator's
    supervisor does; `restarts` counts them."""

    supervised = True

    def __init__(self, folder):
        self.folder = folder
        self.processes = {}
        self.restarts = 0
        self.stopped = False

    def begin(self, name, *command, environment=()):
        log = open(self.folder / f"{name}.log", "a", encoding="utf-8")
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=HERE, start_new_session=True,
                                   env=dict(os.environ, **STARTUP, **dict(environment)))
        self.processes[name] = (process, command, environment)

    def supervise(self):
        for name, (process, command, environment) in list(self.processes.items()):
            if process.poll() is not None and not self.stopped:
                self.restarts += 1
                self.begin(name, *command, environment=environment)

    def files(self, rank=None):
        return [path for path in self.folder.glob("steps-*") if rank is None or path.name.split("-")[1] == str(rank)]

    def steps(self):
        """(step, seconds, rank, pid, discarded) of all steps that any process has done."""
        found = []
        for path in self.files():
            _, rank, pid = path.name.split("-")
            for line in path.read_text().splitlines():
                numbers = line.split()
                if len(numbers) >= 2:
                    found.append((int(numbers[0]), int(numbers[1]) / 1e9, int(rank), int(pid), len(numbers) > 2))
        return sorted(found, key=lambda each: each[1])

    def pid(self, rank):
        """The process that is worker `rank`; None: there is none."""
        alive = [int(path.name.split("-")[2]) for path in self.files(rank)]
        alive = [pid for pid in alive if Path(f"/proc/{pid}/cmdline").exists()]
        return alive[-1] if alive else None

    def close(self):
        self.stopped = True
        for process, _, _ in self.processes.values():
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        for path in Path("/proc").glob("[0-9]*/cmdline"):  # torchrun's workers have sessions of their own.
            try:
                if str(self.folder).encode() in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                continue


class TensorFlow(Peer):
    """MultiWorkerMirroredStrategy. A worker ends with an error when the other is lost; a supervisor starts both."""

    def __init__(self, folder, python):
        super().__init__(folder)
        self.name = f"TensorFlow {needs(python, 'tensorflow')}, MultiWorkerMirroredStrategy"
        addresses = ",".join(f"127.0.0.1:{port}" for port in free_ports(2))
        for rank in range(2):
            self.begin(f"worker{rank}", python, str(HERE / "tensorflow_worker.py"), str(folder), str(rank), addresses)


class Torchrun(Peer):
    """DistributedDataParallel over Gloo; torchrun starts the workers again."""

    def __init__(self, folder, python):
        super().__init__(folder)
        self.name = f"PyTorch {needs(python, 'torch')}, DistributedDataParallel, torchrun"
        self.begin("torchrun", python, "-m", "torch.distributed.run", f"--master-port={free_ports(1)[0]}",
                   "--nproc-per-node=2", "--max-restarts=1000", "--monitor-interval=0.1", "torch_worker.py", str(folder))


class Torchft(Peer):
    """Replicas, a lighthouse, and a supervisor that starts a lost replica again."""

    def __init__(self, folder, python):
        super().__init__(folder)
        needs(python, "torchft")
        version = subprocess.run([python, "-c", "from importlib.metadata import version; print(version('torchft'))"],
                                 capture_output=True, text=True, check=True).stdout.strip()
        self.name = f"torchft {version}, DistributedDataParallel"
        port = free_ports(1)[0]
        self.begin("lighthouse", str(Path(python).parent / "torchft_lighthouse"), "--bind", f"127.0.0.1:{port}",
                   "--min_replicas", "1", "--join_timeout_ms", "10000")
        for rank in range(2):
            self.begin(f"replica{rank}", python, str(HERE / "torchft_worker.py"), str(folder), str(rank),
                       environment={"TORCHFT_LIGHTHOUSE": f"http://127.0.0.1:{port}"}.items())


class Horovod(Peer):
    """Horovod Elastic over Gloo. Each worker is on a host of its own, two names of this one: horovodrun excludes a host whose
    worker was lost, here for about a second."""

    def __init__(self, folder, python):
        super().__init__(folder)
        self.name = f"Horovod {needs(python, 'horovod')}, elastic"
        script = folder / "hosts"
        script.write_text("#!/bin/sh\necho localhost:1\necho 127.0.0.1:1\n")
        script.chmod(0o755)
        self.begin("horovodrun", str(Path(python).parent / "horovodrun"), "--gloo", "-np", "2", "--min-np", "1", "--max-np", "2",
                   "--host-discovery-script", str(script), "--blacklist-cooldown-range", "1", "1", "--network-interfaces", "lo",
                   python, str(HERE / "horovod_worker.py"), str(folder))


class Tanist(Peer):
    """A run without ps, whose agent starts lost workers again. Its steps are those of metrics.jsonl."""

    def __init__(self, folder, program):
        super().__init__(folder)
        self.name = "Tanist, strategy mirror"
        self.program = str(Path(program).absolute())
        if not Path(program).exists():
            raise Missing(f"{program} does not exist: build it, or give --program")
        (folder / "job.json").write_text(json.dumps(JOB))
        self.begin("run", self.program, "run", str(folder / "job.json"), "--dir", str(folder / "run"))

    def status(self):
        done = subprocess.run([self.program, "status", "--dir", str(self.folder / "run"), "-o", "json"],
                              capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def steps(self):
        path = self.folder / "run/metrics.jsonl"
        points = [json.loads(line) for line in path.read_text().splitlines(True) if line.endswith("\n")] if path.exists() else []
        clocks = time.monotonic() - time.time()
        seconds = lambda text: datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() + clocks
        return [(point["step"], seconds(point["time"]), 0, 0, False) for point in points if "loss" in point]

    def pid(self, rank):
        status = self.status()
        pids = [task["pid"] for task in status["tasks"] if (task["role"], task["index"]) == ("worker", rank)] if status else []
        return pids[0] if pids and pids[0] else None

    def close(self):
        self.stopped = True
        subprocess.run([self.program, "stop", "--dir", str(self.folder / "run")], capture_output=True, check=False)
        process = self.processes["run"][0]
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            super().close()
            sys.stderr.write("tanist run did not end within 60 s\n")
