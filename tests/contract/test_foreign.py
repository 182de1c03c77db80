#!/usr/bin/env python3
"""Another program deletes or damages znodes of a run: they are restored, or the run reports what is wrong.

A real run; every wait is bounded. TANIST_PROGRAM: the program. TANIST_ZNODE: a client that changes znodes.
"""

import os
import signal
import unittest

from case import LONG, QUICK, Cli, pids

FOLDERS = ("election", "members", "exits", "checkpoints", "history", "requests", "kills", "drains", "verifications")


class Foreign(Cli):
    def change(self, *arguments):
        """The client succeeds; returns its output."""
        result = self.znode(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.split()

    def begin(self, *options):
        return super().begin("--set", "checkpoint.every_steps=100", *options)

    def path(self, name):
        return f"/tanist/quick/{name}".rstrip("/")

    def wait_exists(self, *names):
        self.wait_for(f"{names} exist", lambda: set(names) <= set(self.change("list", self.path(""))))

    def test_deleted_znodes_are_restored(self):
        """Each znode, deleted with all znodes below it, exists again, and training continues."""
        run = self.begin()
        for name in ("chief", "run", "assignment", "spec", *FOLDERS, ""):
            with self.subTest(name):
                self.wait_step()
                self.change("delete", self.path(name))
                self.wait_exists("chief", "run", "assignment", "spec", *FOLDERS)
                self.check_it_continues()
        self.end(run)

    def test_spec_is_restored_by_a_new_chief(self):
        """The chief dies before it can restore /spec: its successors have never read it."""
        run = self.begin()
        for _ in range(2):
            status = self.wait_tasks()
            chief = pids(status)[status["chief"]["task"]]
            self.freeze(chief)
            self.change("delete", self.path("spec"))
            os.kill(chief, signal.SIGKILL)
            self.wait_exists("spec")
            self.check_it_continues()
        self.end(run)

    def test_cluster_is_deleted_while_it_is_restored(self):
        """The agent tries again when what it has just created is deleted, too."""
        run = self.begin()
        for _ in range(200):
            self.znode("delete", self.path(""))
        self.wait_exists("chief", "run", "assignment", "spec", *FOLDERS)
        self.check_it_continues()
        self.end(run)

    def test_manifests_are_published_again(self):
        """The manifests of committed checkpoints exist again after /checkpoints was deleted."""
        run = self.begin("--set", "checkpoint.keep=3")
        self.check_it_continues()
        self.tanist("pause", "--dir", "run")
        before = set(self.change("list", self.path("checkpoints")))
        self.assertTrue(before)
        self.change("delete", self.path("checkpoints"))
        self.wait_exists("checkpoints")
        self.wait_for("the manifests", lambda: before <= set(self.change("list", self.path("checkpoints"))))
        self.tanist("resume", "--dir", "run")
        self.check_it_continues()
        self.end(run)

    def test_damaged_znodes_are_rewritten(self):
        """Garbage in a znode is replaced by its contents, and training continues."""
        run = self.begin()
        for name in ("chief", "run", "assignment", "members/ps-0", "members/worker-1"):
            with self.subTest(name):
                self.wait_step()
                self.change("set", self.path(name), "garbage")
                self.check_it_continues()
        self.end(run)

    def test_read_only_znodes_are_replaced(self):
        """/run, /assignment and /chief that an ACL makes read-only are replaced."""
        run = self.begin()
        for name in ("run", "assignment", "chief"):
            with self.subTest(name):
                self.wait_step()
                self.change("protect", self.path(name))
                worker = next(task["pid"] for task in self.wait_tasks()["tasks"] if task["role"] == "worker")
                os.kill(worker, 9)
                self.check_it_continues()
        self.end(run)

    def test_thousands_of_foreign_znodes_are_harmless(self):
        """A new chief, and commands, work although each folder of the cluster has thousands of other children."""
        run = self.begin()
        for name in ("", *FOLDERS):
            self.change("fill", self.path(name), "2000")
        for task in self.wait_tasks()["tasks"]:
            if task["role"] in ("coordinator", "worker"):
                os.kill(task["pid"], 9)
        self.check_it_continues()
        for command in (["status"], ["elections"], ["checkpoints", "list"]):
            result = self.tanist(*command, "--dir", "run")
            self.assertEqual(result.returncode, 0, result.stderr)
        self.end(run)

    def test_denied_writes_are_reported(self):
        """Where an ACL cannot be replaced, `status` and `watch` name the znode and the remedy until it is restored."""
        run = self.begin()
        self.change("protect", self.path("history"))
        self.change("protect", self.path(""))

        def problem():
            result = self.tanist("status", "--dir", "run")
            return "problem: coordinator:" in result.stdout and "ACL" in result.stdout
        os.kill(next(task["pid"] for task in self.wait_tasks()["tasks"] if task["role"] == "worker"), 9)
        self.wait_for("the problem in status", problem)
        self.change("open", self.path(""))
        self.change("open", self.path("history"))
        self.wait_for("the end of the problem", lambda: not problem())
        self.check_it_continues()
        self.end(run)

    def test_result_stays_the_same(self):
        """A run whose znodes are deleted one after the other ends with the digest of an undisturbed run."""
        run = self.start(*LONG, "--set", "evaluate.every_steps=0", "--set", "checkpoint.every_steps=50")
        for name in ("assignment", "chief", "run", *FOLDERS):
            self.wait_for("a run", self.status)
            self.znode("delete", self.path(name))
        self.check_it_continues()
        result = self.end(run)
        calm = self.alone(QUICK, "calm", "--set", f"train.steps={result['steps']}")
        self.assertEqual(result["parameters_digest"], calm["parameters_digest"])


if __name__ == "__main__":
    unittest.main()
