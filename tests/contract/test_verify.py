#!/usr/bin/env python3
"""`tanist checkpoints verify` across hosts: the agents verify the shards in their own folders.

Real processes, a real ensemble of one server. Two agents with a folder each stand for two hosts.
"""

import json
import signal
import subprocess
import sys
import unittest

from case import LONG, QUICK, Cli

NAME = "pair"
JOB = [option for key in ("cluster.ps=2", "model.inputs=64", "checkpoint.every_steps=0",
                          "checkpoint.every_seconds=1", "checkpoint.keep=60") for option in ("--set", key)]


class Verify(Cli):
    def setUp(self):
        super().setUp()
        self.zookeeper = self.start_ensemble()
        self.target = ["--zk", self.zookeeper, "--cluster", NAME]

    def agent(self, host, address, tasks):
        """An agent of the host `host`."""
        return self.spawn("agent", QUICK, "--set", f"name={NAME}", "--dir", host, "--host", address, "--tasks", tasks,
                          "--zk", self.zookeeper, *LONG, *JOB, stdout=subprocess.DEVNULL)

    def start_hosts(self):
        """Two hosts with a ps each, training paused after some checkpoints."""
        agents = [self.agent("alpha", "127.0.0.1", "coordinator:0,ps:0,worker:0"),
                  self.agent("beta", "127.0.0.2", "coordinator:1,ps:1,worker:1")]
        self.wait_for("two checkpoints", lambda: self.listed() >= 2)
        self.succeeds("pause", *self.target)
        return agents

    def listed(self):
        found = self.tanist("checkpoints", "list", *self.target, "-o", "json")
        return len(json.loads(found.stdout)["checkpoints"]) if found.returncode == 0 else 0

    def verify(self, code, *options):
        """The checkpoints, newest first."""
        result = self.tanist("checkpoints", "verify", *self.target, "-o", "json", *options, timeout=200)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        return json.loads(result.stdout)["checkpoints"]

    def shard(self, host, checkpoint):
        """The file of a committed checkpoint on a host; others may be left over from aborted ones."""
        files = list((self.folder / host / "checkpoints" / f"{checkpoint:010d}").rglob("data.mdb"))
        self.assertEqual(len(files), 1)
        return files[0]

    def test_shards_of_all_hosts(self):
        """Intact; then one bit is flipped on one host, and a file is removed on the other."""
        self.start_hosts()
        intact = self.verify(0, "--timeout", "60")
        self.assertGreaterEqual(len(intact), 2)
        for entry in intact:
            self.assertIs(entry["intact"], True)
            self.assertEqual([shard["verdict"] for shard in entry["verdicts"]], ["ok", "ok"])
        table = self.tanist("checkpoints", "verify", *self.target, "--timeout", "60", timeout=200)
        self.assertEqual(table.returncode, 0, table.stderr)
        self.assertIn("intact", table.stdout)
        self.damage(intact[0]["id"])
        self.check_withdrawn()

    def damage(self, newest):
        file = self.shard("beta", newest)
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
        found = self.verify(6, "--timeout", "60")[0]
        self.assertEqual((found["id"], found["intact"]), (newest, False))
        self.assertEqual([shard["verdict"] for shard in found["verdicts"]], ["ok", "damaged"])
        self.assertIn("digest differs", found["verdicts"][1]["reason"])
        self.assertIn("shard 1", found["error"])
        self.shard("alpha", newest).unlink()
        verdicts = self.verify(6, "--timeout", "60")[0]["verdicts"]
        self.assertEqual([shard["verdict"] for shard in verdicts], ["damaged", "damaged"])
        self.assertIn("does not exist", verdicts[0]["reason"])

    def check_withdrawn(self):
        """The processes that have verified leave once the request is removed."""
        self.wait_for("the end of the processes that verify", lambda: not any(
            b"answer" in self.command_line(pid) for pid in self.processes()))

    def test_absent_agent(self):
        """The shards of an absent agent are not verified; their host is named, with --dir, too."""
        agents = self.start_hosts()
        agents[1].send_signal(signal.SIGKILL)
        agents[1].wait()
        entries = self.verify(7, "--timeout", "10")
        for entry in entries:
            self.assertIsNone(entry["intact"])
            first, second = entry["verdicts"]
            self.assertEqual((first["verdict"], second["verdict"]), ("ok", "not verified"))
            self.assertEqual(second["host"], entry["places"][1].split(":")[0])
            self.assertIn("no agent", second["reason"])
        local = self.tanist("checkpoints", "verify", "--dir", "alpha")
        self.assertEqual(local.returncode, 7, local.stderr)
        self.assertIn(f"shard 1 at {entries[0]['places'][1]}: not verified", local.stdout)
        self.shard("alpha", entries[0]["id"]).unlink()
        self.assertEqual(self.tanist("checkpoints", "verify", "--dir", "alpha").returncode, 6)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
