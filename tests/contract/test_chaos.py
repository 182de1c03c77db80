#!/usr/bin/env python3
"""`tanist chaos` on real clusters: campaigns that pass, fail, are repeated, are stopped and are observed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("TANIST_PROGRAM", str(ROOT / "build/tanist"))
LIMIT_S = 500


def tanist(*arguments, program=PROGRAM, **more):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=LIMIT_S, check=False,
                          **more)


def chaos_in(folder, *arguments, **more):
    """`tanist chaos` with this folder. It is repeated if a run had ended before a fault was due, as the process that
    injects faults was not run for seconds: then little was tested."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        done = tanist("chaos", *arguments, "--dir", str(folder), **more)
        lines = [line for history in folder.glob("round-*/history.jsonl") for line in lines_of(history)]
        if not any("the run ended before" in line["text"] for line in kinds(lines, "skipped")):
            break
    return done


def lines_of(history):
    return [json.loads(line) for line in Path(history).read_text().splitlines()]


def kinds(lines, kind):
    return [line for line in lines if line["kind"] == kind]


def processes_with(mark):
    """The processes that have `mark` in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                found.append(entry.name)
        except OSError:
            continue
    return found


class Campaign(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tanist-chaos."))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def plan(self, name="small", **more):
        plan = {"name": name, "about": "a test", "recover_within_s": 60,
                "set": {"train.steps": 12000, "zookeeper.session_timeout_ms": 2000},
                "faults": [{"fault": "kill", "selector": "worker:0", "at_progress": [0.2, 0.3]},
                           {"fault": "kill", "selector": "ps:0", "at_progress": [0.5, 0.6]}]}
        plan.update(more)
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(plan))
        return str(path)

    def run_plan(self, plan, *more):
        return chaos_in(self.folder / "c", "run", "--plan", plan, "--job", str(ROOT / "examples/quick.json"), "-o", "json",
                        *more)

    def test_round_passes(self):
        done = self.run_plan(self.plan(), "--rounds", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)
        self.assertEqual((summary["rounds"], summary["broken"], summary["faults"]), (1, 0, 2))
        lines = lines_of(self.folder / "c/round-0001/history.jsonl")
        self.assertEqual(lines[0]["kind"], "begin")
        self.assertEqual([line["selector"] for line in kinds(lines, "fault")], ["worker:0", "ps:0"])
        self.assertTrue(kinds(lines, "verdict")[0]["ok"])
        checks = {check["name"] for check in kinds(lines, "verdict")[0]["checks"]}
        self.assertLessEqual({"digest", "orders", "recovery", "crashes", "nothing-left"}, checks)
        self.assertEqual(os.listdir(self.folder / "c/round-0001"), ["history.jsonl"])
        report = (self.folder / "c/report.html").read_text()
        self.assertIn("<svg", report)
        for outside in ("src=\"http", "href=\"http", "@import", "url(http"):
            self.assertNotIn(outside, report)
        self.assertEqual(json.loads((self.folder / "c/report.json").read_text())["version"], 2)

    def test_lanes_are_attacked_without_namespaces(self):
        """With lane=shm a worker that cannot use shared memory ends, and with it the round."""
        done = self.run_plan(self.plan(), "--network", "loopback", "--set", "transport.lane=shm", "--keep")
        self.assertEqual(done.returncode, 0, done.stderr)
        logs = self.folder / "c/round-0001/run/logs"
        connected = [line for log in logs.glob("worker-*.log") for line in log.read_text().splitlines()
                     if "connected to ps:" in line]
        self.assertTrue(connected)
        self.assertEqual([line for line in connected if "lane=shm" not in line], [])

    def test_evaluator_is_a_target(self):
        """Its death leaves the digest as it is, and a job without one is refused."""
        plan = self.plan(faults=[{"fault": "kill", "selector": "evaluator", "at_progress": [0.2, 0.6], "times": 2},
                                 {"fault": "kill", "selector": "evaluator:0", "at_progress": 0.8}])
        refused = self.run_plan(plan, "--rounds", "1")
        self.assertEqual(refused.returncode, 3, refused.stderr)
        self.assertIn("the cluster has 0 evaluator", refused.stderr)
        done = self.run_plan(plan, "--rounds", "1", "--set", "cluster.evaluators=1", "--set",
                             "checkpoint.every_steps=500")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = lines_of(self.folder / "c/round-0001/history.jsonl")
        self.assertEqual([line["selector"] for line in kinds(lines, "fault")], ["evaluator:0"] * 3)

    def test_failed_round_is_kept_and_replayed(self):
        plan = self.plan(recover_within_s=0.1, faults=[
            {"fault": "kill", "selector": "agent", "at_progress": [0.4, 0.5]}])  # No restart is that fast.
        done = self.run_plan(plan)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("recovery", done.stderr)
        kept = self.folder / "c/round-0001"
        for name in ("REPEAT", "run.log", "run/logs", "history.jsonl"):
            self.assertTrue((kept / name).exists(), name)
        again = chaos_in(self.folder / "again", "replay", str(kept / "history.jsonl"))
        self.assertEqual(again.returncode, 1, again.stderr)
        repeated = lines_of(self.folder / "again/round-0001/history.jsonl")
        self.assertEqual(kinds(repeated, "planned")[0]["trigger"],
                         kinds(lines_of(kept / "history.jsonl"), "planned")[0]["trigger"])

    def test_round_without_faults_fails_unless_skips_are_allowed(self):
        plan = self.plan(faults=[{"fault": "cut", "selector": "worker:0", "at_progress": [0.2, 0.3], "for_s": 0.2}])
        done = self.run_plan(plan, "--network", "loopback", "--set", "train.steps=3000")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("nothing was tested", done.stderr)
        self.assertIn("--allow-skips network", done.stderr)
        done = self.run_plan(plan, "--network", "loopback", "--set", "train.steps=3000", "--allow-skips",
                             "tmpfs,network")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("round 1: SKIPPED", done.stderr)
        self.assertEqual(json.loads(done.stdout)["untested"], 1)
        wrong = self.run_plan(plan, "--allow-skips", "networks")
        self.assertEqual(wrong.returncode, 3)
        self.assertIn('"networks": give network, bandwidth', wrong.stderr)

    def test_full_disk_is_a_device_of_the_round(self):
        can = json.loads(tanist("chaos", "list", "-o", "json").stdout)["machine"]["tmpfs"]
        if can is not True:
            self.skipTest(can)
        done = self.run_plan(self.plan(faults=[
            {"fault": "disk-full", "selector": "ps", "at_progress": [0.2, 0.3], "for_s": 0.5}]), "--keep")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["faults"], 1, done.stderr)
        # The device was unmounted, and its checkpoints were copied to the folder below it.
        left = self.folder / "c/round-0001/run/checkpoints"
        self.assertTrue(list(left.glob("*/manifest.json")))
        self.assertEqual(left.stat().st_dev, left.parent.stat().st_dev)

    def test_invalid_plan_is_refused(self):
        bad = self.plan("bad", faults=[{"fault": "kill", "selector": "pss", "at_progress": [0.1, 0.2]}])
        done = self.run_plan(bad)
        self.assertEqual(done.returncode, 3)
        self.assertIn("did you mean \"ps\"", done.stderr)
        self.assertEqual(self.run_plan("no-such-plan").returncode, 3)
        self.assertEqual(self.run_plan(self.plan(), "--set", "train.stepz=1").returncode, 3)
        self.assertFalse((self.folder / "c/baseline").exists())

    def test_folder_of_another_is_refused(self):
        """One of several campaigns that start at once in a folder runs, and the folder of a run is not used."""
        plan, folder = self.plan(), self.folder / "c"
        command = [PROGRAM, "chaos", "run", "--plan", plan, "--job", str(ROOT / "examples/quick.json"), "--dir", str(folder)]
        campaigns = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                     for _ in range(3)]
        errors = [campaign.communicate(timeout=LIMIT_S)[1] for campaign in campaigns]
        refused = [text for campaign, text in zip(campaigns, errors) if campaign.returncode == 3]
        self.assertEqual(len(refused), 2, errors)
        self.assertTrue(all("holds a campaign" in text for text in refused), errors)
        self.assertTrue((folder / "round-0001/history.jsonl").exists())
        job = ["--job", str(ROOT / "examples/quick.json")]
        tanist("run", "--local", job[1], "--dir", str(self.folder / "run"), "-q")
        done = tanist("chaos", "run", "--plan", plan, *job, "--dir", str(self.folder / "run"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("is the folder of a run", done.stderr)
        self.assertFalse((self.folder / "run/baseline").exists())

    def test_job_in_one_process_is_refused(self):
        done = self.run_plan(self.plan(), "--set", "strategy.type=local")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("strategy.type is local", done.stderr)
        self.assertFalse((self.folder / "c").exists())

    def test_status_sees_the_run_and_a_signal_stops_it(self):
        run = subprocess.Popen([PROGRAM, "chaos", "run", "--plan", self.plan(), "--job",
                                str(ROOT / "examples/quick.json"), "--dir", str(self.folder / "c"), "--set",
                                "train.steps=100000000"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
        baseline = self.folder / "c/baseline/run"
        end = time.monotonic() + 120
        status = None
        while time.monotonic() < end and not (status and status["phase"] == "running"):
            answer = tanist("status", "--dir", str(baseline), "-o", "json")
            status = json.loads(answer.stdout) if answer.returncode == 0 else None
            time.sleep(0.2)
        self.assertIsNotNone(status, "tanist status --dir never answered")
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 130, errors)
        mark = f"TMPDIR={self.folder}".encode()
        end = time.monotonic() + 120
        while processes_with(mark) and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(processes_with(mark), [])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=1))
