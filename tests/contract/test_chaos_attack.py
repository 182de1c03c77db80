#!/usr/bin/env python3
"""`tanist chaos attack` on a running cluster, through its agents. Every wait is bounded.

TANIST_PROGRAM: the program.
"""

import json
import unittest

from case import Cli, patience

PLAN = {
    "name": "all-ways", "about": "Each fault that needs no access to the hosts, once.",
    "recover_within_s": 30,
    "faults": [
        {"fault": "kill", "selector": "ps", "after_s": 0.2},
        {"fault": "kill", "selector": "chief", "after_s": 0.8},
        {"fault": "terminate", "selector": "worker", "after_s": 1.4},
        {"fault": "freeze", "selector": "worker", "after_s": 2, "for_s": 0.3},
        {"fault": "crash-loop", "selector": "worker", "after_s": 2.8, "for_s": 0.5},
        {"fault": "resign", "selector": "cluster", "after_s": 3.8},
        {"fault": "pause", "selector": "cluster", "after_s": 4.6, "for_s": 0.3},
        {"fault": "wipe", "selector": "cluster", "after_s": 5.2},
    ],
}


class Attack(Cli):
    def attack(self, code, *arguments):
        plan = self.folder / "plan.json"
        plan.write_text(json.dumps(PLAN))
        result = self.tanist("chaos", "attack", "--plan", str(plan), "--dir", "run", "--report",
                             "report", "-o", "json", *arguments, timeout=120)
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout)

    def history(self):
        text = (self.folder / "report/round-0001/history.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def test_every_fault_is_injected_or_skipped(self):
        """Each fault is recorded; one that needs the hosts is skipped; the job continues."""
        self.begin("--allow-chaos")
        result = self.attack(0)
        self.assertTrue(result["kept"], result)
        self.assertEqual((result["faults"], result["skipped"]), (7, 1), result)
        lines = self.history()
        done = {line["fault"] for line in lines if line["kind"] == "fault"}
        self.assertEqual(done, {fault["fault"] for fault in PLAN["faults"]} - {"wipe"})
        undone = {line["fault"] for line in lines if line["kind"] == "undo"}
        self.assertEqual(undone, {"freeze", "crash-loop", "pause"})
        verdict = next(line for line in lines if line["kind"] == "verdict")
        self.assertEqual([check["name"] for check in verdict["checks"]],
                         ["faults", "recovery", "epochs", "generations", "alive"])
        self.assertTrue((self.folder / "report/report.html").stat().st_size > 1000)
        self.wait_step(self.wait_step()["step"] + 1)
        self.refused(3, ["exists already"], "chaos", "attack", "--dir", "run", "--report", "report")

    def test_two_attacks_with_one_report(self):
        """If two start at once, one has the folder; the other is refused, and injects nothing."""
        self.begin("--allow-chaos")
        plan = self.folder / "plan.json"
        plan.write_text(json.dumps({**PLAN, "faults": PLAN["faults"][:1]}))
        attacks = [self.spawn("chaos", "attack", "--plan", str(plan), "--dir", "run", "--report", "report", "-q")
                   for _ in range(2)]
        errors = [attack.communicate(timeout=patience(120))[1] for attack in attacks]
        self.assertEqual(sorted(attack.returncode for attack in attacks), [0, 3], errors)
        self.assertIn("exists already", "".join(errors))

    def test_cluster_with_credentials(self):
        """The attack reads the znodes of a cluster that requires credentials. Without them, all commands are refused."""
        self.environment["TANIST_ZK_CREDENTIALS"] = "tanist:secret"
        self.begin("--allow-chaos")
        result = self.attack(0)
        self.assertGreaterEqual(result["faults"], 1, result)
        del self.environment["TANIST_ZK_CREDENTIALS"]
        for command in ("status", "pause", "stop", "elections"):
            self.refused(3, ["access denied", "--zk-credentials"], command, "run")

    def test_attack_fails_without_allow_chaos(self):
        """If no agent obeys, no fault is injected, and the attack fails."""
        self.begin()
        result = self.attack(1, "--seconds", "1")
        self.assertIn("--allow-chaos", json.dumps(self.history()))
        self.assertIn("no fault was injected", result["broken"])

    def test_faults_that_are_never_due(self):
        """The reason is --seconds, and not the end of the run, which continues."""
        self.begin("--allow-chaos")
        plan = self.folder / "late.json"
        plan.write_text(json.dumps({"faults": [{"fault": "kill", "selector": "worker", "after_s": 3000}]}))
        result = self.tanist("chaos", "attack", "--plan", str(plan), "--dir", "run", "--report", "report", "-o", "json",
                             "--seconds", "1", timeout=120)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("it was not due within --seconds", json.loads(result.stdout)["broken"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
