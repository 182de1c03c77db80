#!/usr/bin/env python3
"""Kills parts of a running cluster at random moments, round after round, and checks the promise:
the run ends by itself, with the parameters of the run in which nothing was killed (sync), or with an
accuracy within 0.01 of it (async), and leaves no process, socket or file behind.

  tests/chaos/kill_anything.py [--rounds N] [--seed S] [--mode sync|async]
                               [--victims chief,ps,worker,zk,wipe,everything] [--set KEY=VALUE ...]

Victims: `chief` is whoever holds office; `ps` and `worker` mean each of them; `zk` is one server of the
ensemble; `wipe` is all of its servers, and their data with them; `everything` is every process at once, after which the same command is given again with
--resume. Each is killed once a round (--kills K: K times), at steps drawn from the seed.

Exit status: 0 every round kept the promise, 1 not, 128 bad arguments.
"""

import argparse
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import rig  # noqa: E402

KINDS = ("chief", "ps", "worker", "zk", "wipe", "everything")
COME_BACK_S = 60


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(rig.ROOT / "build/tanist"))
    parser.add_argument("--job", default=str(rig.ROOT / "examples/fashion-mnist.json"))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--first", type=int, default=1, help="number of the first round")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", choices=("sync", "async"), default="sync")
    parser.add_argument("--victims", default="chief,ps,worker")
    parser.add_argument("--kills", type=int, default=1, help="times each victim is killed in a round")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--keep", action="store_true", help="keep the folders of rounds that failed")
    args = parser.parse_args()
    args.victims = args.victims.split(",")
    for victim in args.victims:
        if victim.split(":")[0] not in KINDS + ("coordinator",):
            print(f"no victim '{victim}'; there are {', '.join(KINDS)} and tasks like ps:0",
                  file=sys.stderr)
            sys.exit(128)
    args.settings = [f"train.mode={args.mode}", f"train.steps={args.steps}",
                     f"checkpoint.every_steps={max(1, args.steps // 6)}"] + args.settings
    return args


def expand(victims, status, dice):
    """`ps` becomes ps:0, ps:1 ...; `zk` one server drawn from the dice."""
    named = []
    for victim in victims:
        if victim in ("ps", "worker"):
            named += [f"{victim}:{task['index']}" for task in status["tasks"]
                      if task["role"] == victim]
        elif victim == "zk":
            servers = (status.get("zookeeper") or {}).get("servers") or []
            if len(servers) < 3:
                raise rig.Failure("zk is a victim, but the ensemble has fewer than 3 servers")
            named.append(f"zk:{dice.randrange(len(servers))}")
        else:
            named.append(victim)
    return named


def wipe(run):
    """Kill all servers, throw their data away, and wait until the run trains again."""
    def trains(status):
        return status.get("phase") == "running"

    before = run.wait_status(lambda s: trains(s) and (s.get("zookeeper") or {}).get("servers"),
                             "the run to train", 2 * COME_BACK_S)
    began = time.monotonic()
    with run.held():  # Or a server is started again, over its data, before the last one is dead.
        for server in before["zookeeper"]["servers"]:
            rig.kill(server["pid"], gone=True)
        folders = list((run.dir / "zookeeper").glob("**/version-2"))
        for folder in folders:
            shutil.rmtree(folder)
    run.wait_status(lambda s: (s.get("chief") or {}).get("pid") != before["chief"]["pid"]
                    and trains(s), "the run to train over a wiped ZooKeeper", 2 * COME_BACK_S)
    return (f"wipe of {len(folders)} folders at step {before.get('step')}, training again after "
            f"{time.monotonic() - began:.1f} s")


def kill_one(run, victim):
    """Kill a victim as soon as it is there. What was done, in words; None when the run is over."""
    end = time.monotonic() + COME_BACK_S
    while run.alive() and time.monotonic() < end:
        if victim == "everything":
            status = run.status() or {}
            count = run.kill_all()
            run.process.wait()
            run.start(resume=True)
            return f"everything ({count} processes) at step {status.get('step')}"
        if victim == "wipe":
            return wipe(run)
        status = run.status()
        pid = rig.pid_of(status, victim) if status else None
        if pid and rig.kill(pid) is not None:
            where = f"step {status.get('step')}" if status.get("phase") == "running" \
                else f"{status.get('phase')}"
            return f"{victim} at {where}"
        time.sleep(0.02)
    if run.alive():
        raise rig.Failure(f"{victim} did not come back within {COME_BACK_S} s")
    return None


def disturb(run, args, dice, killed):
    """All kills of one round; what was done goes to `killed`. Returns how many were planned."""
    status = run.wait_status(lambda s: len(s.get("tasks") or []) >= args.tasks,
                             f"all {args.tasks} tasks to be registered")
    victims = expand(args.victims * args.kills, status, dice)
    moments = sorted((dice.uniform(-0.05, 0.9) * args.steps, victim) for victim in victims)
    for at_step, victim in moments:
        while run.alive():
            status = run.status()
            if at_step <= 0 or (status and status.get("step", 0) >= at_step):
                break
            time.sleep(0.01)
        time.sleep(dice.uniform(0.0, 0.05))
        what = kill_one(run, victim)
        if what is None:
            break
        killed.append(what)
    return len(moments)


def check(result, calm, args):
    """The promise, on the result of a disturbed run."""
    if result["steps"] != calm["steps"]:
        raise rig.Failure(f"{result['steps']} steps, the undisturbed run did {calm['steps']}")
    if args.mode == "sync" and result["parameters_digest"] != calm["parameters_digest"]:
        raise rig.Failure(f"digest {result['parameters_digest']}, "
                          f"the undisturbed run has {calm['parameters_digest']}")
    if abs(result["accuracy"] - calm["accuracy"]) > 0.01:
        raise rig.Failure(f"accuracy {result['accuracy']:.4f}, "
                          f"the undisturbed run has {calm['accuracy']:.4f}")


def judge(run, args):
    """The simulator's checker over what the servers committed, where it is built."""
    checker = Path(args.program).parent / "bin/check_run"
    if not checker.exists():
        return
    verdict = subprocess.run([checker, run.dir], capture_output=True, text=True, check=False)
    if verdict.returncode != 0:
        raise rig.Failure((verdict.stdout + verdict.stderr).strip())


def undisturbed(args):
    """The run to compare with: its result, the seconds it trained, and its number of tasks."""
    run = rig.Run(args.program, args.job, args.settings, rig.new_folder())
    try:
        run.start()
        tasks = 0
        while run.alive():
            tasks = max(tasks, len((run.status() or {}).get("tasks") or []))
            time.sleep(0.1)
        result = run.wait(1)
        left = run.leftovers()
        if left:
            raise rig.Failure("left behind: " + "; ".join(left))
        if tasks == 0:
            raise rig.Failure("tanist status never named a task")
        return result, tasks
    except rig.Failure:
        print(run.log_tail())
        raise
    finally:
        run.clean()


def one_round(number, args, calm):
    """True if the round kept the promise."""
    dice = random.Random(f"{args.seed}/{number}")
    run = rig.Run(args.program, args.job, args.settings, rig.new_folder())
    kept = False
    killed = []
    try:
        run.start()
        planned = disturb(run, args, dice, killed)
        result = run.wait(60 + 10 * calm["seconds"])
        check(result, calm, args)
        judge(run, args)
        left = run.leftovers()
        if left:
            raise rig.Failure("left behind: " + "; ".join(left))
        if not killed:
            raise rig.Failure("the run ended before anything was killed; give it more --steps")
        recoveries = result.get("recoveries") or []
        paused = sum(recovery.get("paused_ms") or 0 for recovery in recoveries)
        redone = sum(recovery.get("steps_redone") or 0 for recovery in recoveries)
        print(f"round {number}: ok in {result['seconds']:.1f} s, {len(killed)}/{planned} kills "
              f"({', '.join(killed)}), paused {paused:.0f} ms, {redone} steps redone", flush=True)
        kept = True
    except rig.Failure as failure:
        print(f"round {number}: FAILED: {failure}\n  killed: {', '.join(killed) or 'nothing yet'}\n"
              f"  again: --seed {args.seed} --first {number}\n{run.log_tail()}", flush=True)
    finally:
        if kept or not args.keep:
            run.clean()
        else:
            run.kill_all()
            print(f"  kept: {run.folder}")
    return kept


def main():
    args = arguments()
    if not Path(args.program).exists():
        print(f"{args.program} is not there; build first", file=sys.stderr)
        return 128
    try:
        calm, args.tasks = undisturbed(args)
    except rig.Failure as failure:
        print(f"the undisturbed run: FAILED: {failure}")
        return 1
    print(f"undisturbed ({args.mode}): {calm['steps']} steps in {calm['seconds']:.1f} s, "
          f"accuracy {calm['accuracy']:.4f}, digest {calm['parameters_digest']}", flush=True)
    rounds = range(args.first, args.first + args.rounds)
    failed = [number for number in rounds if not one_round(number, args, calm)]
    print(f"{args.rounds - len(failed)} of {args.rounds} rounds kept the promise")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
