#!/usr/bin/env python3
"""Trains for a long time while a process is killed every few seconds, then checks that nothing was lost or leaked.

  tests/chaos/soak.py [--program build/tanist] [--minutes M] [--every S] [--seed N] [--job JOB.json]
                      [--set KEY=VALUE ...] [--keep]

The victim of each SIGKILL is drawn from the nodes and, one time in ten, from the ZooKeeper servers. Memory,
descriptors, znodes and disk are printed for each tenth of the time. At the end the run is stopped where it is,
and `tanist run --local` with the same number of steps must end with the same parameters. The test fails also if
the median of a resource over the last third of the time is above 1.5 times that of the first third.

Exit status: 0 passed, 1 failed, 128 bad arguments.
"""

import os
import random
import signal
import socket
import statistics
import sys
import time

sys.dont_write_bytecode = True
from run import Failure, attack_run, marked, parser_for, run_test  # noqa: E402

SETTINGS = ("train.steps=1000000000", "train.slices=8", "train.batch=64", "model.inputs=256",
            "checkpoint.every_steps=500", "checkpoint.keep=3", "evaluate.every_steps=5000",
            "cluster.ps=2", "cluster.workers=2", "cluster.coordinators=2",
            "zookeeper.servers=3", "zookeeper.session_timeout_ms=1000")
ROLES = ("coordinator", "ps", "worker")
# Their bound is reached later: logs rotate at --log-max-size, and ZooKeeper removes old logs once an hour.
UNBOUNDED = ("ZooKeeper's data KiB", "logs KiB")
GROWTH_FREE = {"znodes": 1000}  # The history of a run: HISTORY_MAX.
SAMPLES = 30
GROWTH_MAX = 1.5


def role_of(command):
    """The role of a node, "zookeeper", or None: the agent and its short-lived helpers."""
    words = command.split()
    if words and words[0].endswith("java"):
        return "zookeeper"
    return words[1] if len(words) > 2 and words[1] in ROLES and words[2] == "--index" else None


def processes_of(run):
    return {pid: role_of(command) for pid, command in marked(run.mark).items()}


def kill_one(run, draw):
    """Kill a process; return its role, or None if none ran."""
    processes = processes_of(run)
    kind = ("zookeeper",) if draw.random() < 0.1 else ROLES
    victims = sorted(pid for pid, role in processes.items() if role in kind)
    if not victims:
        return None
    pid = draw.choice(victims)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return None
    return processes[pid]


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("VmRSS:")), 0)


def znodes(run):
    """The number of znodes, from the first server that answers; None: none does."""
    for path in sorted(run.dir.glob("zookeeper/*/zoo.cfg")):
        port = next(line.split("=")[1] for line in path.read_text().splitlines() if line.startswith("clientPort="))
        try:
            with socket.create_connection(("127.0.0.1", int(port)), timeout=2) as client:
                client.sendall(b"mntr")
                with client.makefile(encoding="utf-8", errors="replace") as answer:
                    for line in answer:
                        if line.startswith("zk_znode_count"):
                            return int(line.split()[1])
        except OSError:
            continue
    return None


def disk_kib(folder):
    total = 0
    for parent, _, names in os.walk(folder):  # Ignores folders that were removed since.
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_blocks // 2
            except OSError:
                continue  # A checkpoint that was just removed.
    return total


def sample(run):
    """The resources of the run at this moment: {name: value}."""
    agent = {"agent MiB": 0.0, "agent descriptors": 0}
    nodes = {"largest node MiB": 0.0, "most descriptors of a node": 0}
    for pid, role in processes_of(run).items():
        try:
            memory, descriptors = resident_kib(pid) / 1024, len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            continue
        if pid == run.process.pid:
            agent = {"agent MiB": memory, "agent descriptors": descriptors}
        elif role in ROLES:
            nodes["largest node MiB"] = max(nodes["largest node MiB"], memory)
            nodes["most descriptors of a node"] = max(nodes["most descriptors of a node"], descriptors)
    values = agent | nodes | {"znodes": znodes(run),
                              "checkpoints KiB": disk_kib(run.dir / "checkpoints"),
                              "ZooKeeper's data KiB": disk_kib(run.dir / "zookeeper"),
                              "logs KiB": disk_kib(run.dir / "logs")}
    return {name: value for name, value in values.items() if value is not None}


def disturb(run, arguments):
    """Kill processes for the given time; return the samples and the number of kills of each role."""
    draw = random.Random(arguments.seed)
    start = time.monotonic()
    seconds = arguments.minutes * 60
    samples, kills = [], {}
    next_kill = start + 10
    while (now := time.monotonic()) < start + seconds:
        run.check_running()
        if now >= next_kill:
            role = kill_one(run, draw)
            kills[role] = kills.get(role, 0) + 1
            next_kill = now + draw.uniform(0, 2 * arguments.every)
        if now >= start + 10 + (seconds - 10) * len(samples) / SAMPLES:
            samples.append(sample(run))
            if len(samples) % (SAMPLES // 10) == 0:
                figures = ", ".join(f"{name} {value:.0f}" for name, value in samples[-1].items())
                print(f"{(now - start) / 60:6.1f} min, {sum(kills.values())} kills: {figures}", flush=True)
        time.sleep(0.05)
    return samples, kills


def check_growth(samples):
    third = len(samples) // 3
    for name in samples[-1]:
        first, last = (statistics.median(s[name] for s in part if name in s) for part in (samples[:third], samples[-third:]))
        print(f"   {name}: median of the first third {first:.0f}, of the last {last:.0f}")
        if name not in UNBOUNDED and last > GROWTH_MAX * first + GROWTH_FREE.get(name, 0):
            raise Failure(f"{name} grew from {first:.0f} to {last:.0f}")


def check_digest(run, settings, result):
    """One process computes the same parameters in as many steps."""
    other = run.train_local((*settings, f"train.steps={result['steps']}", "checkpoint.every_steps=100000",
                             "evaluate.every_steps=1000000"))
    if other["parameters_digest"] != result["parameters_digest"]:
        raise Failure(f"an undisturbed run of {result['steps']} steps has the digest {other['parameters_digest']}")
    print(f"passed: an undisturbed run has the same digest after {other['seconds']:.0f} s")


def test(arguments):
    settings = (*SETTINGS, *arguments.settings)

    def attack(run):
        samples, kills = disturb(run, arguments)
        result = run.stop()
        left = run.leftovers()
        print(f"{sum(kills.values())} kills ({', '.join(f'{n} of {role}' for role, n in sorted(kills.items(), key=str))}), "
              f"{result['steps']} steps, {result['elections']} elections, digest {result['parameters_digest']}")
        if left:
            raise Failure("left behind: " + "; ".join(left))
        check_growth(samples)
        check_digest(run, settings, result)

    attack_run(arguments, settings, attack)


def parse():
    parser = parser_for(__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=2, help="mean seconds between kills")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(run_test("soak", parse, test))
