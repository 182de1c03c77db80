#!/usr/bin/env python3
"""Relays without ps: hosts of several workers exchange one sum for each range, whatever dies.

Each host is a network namespace; they are joined by a bridge in a namespace of this process, and vanish with it. Needs
root. Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import ctypes
import json
import os
import subprocess
import unittest
from pathlib import Path

from case import FEW, QUICK, STEADY, Cli, own_servers, pids

CLONE_NEWNET = 0x40000000
WORKERS = 6
# Clipping needs the norm of the whole gradient. Three slices of a host are two nodes of the tree.
JOB = ["--set", "strategy.type=mirror", "--set", f"cluster.workers={WORKERS}", "--set", "train.slices=6", "--set",
       "train.batch=48", "--set", "model.inputs=2000", "--set", "model.outputs=31", "--set", "train.optimizer=adamw",
       "--set", "train.clip_norm=0.5", "--set", "checkpoint.every_steps=0", "--set", "evaluate.every_steps=0", *STEADY]
PARAMETERS_BYTES = 4 * (2000 * 31 + 31)


def call(*command):
    subprocess.run(command, check=True, capture_output=True, text=True)


class Host:
    """A namespace with an address, which lasts as long as a process in it."""

    def __init__(self, number):
        self.address, self.link = f"10.78.0.{1 + number}", f"host{number}"
        command = ["unshare", "--net", "sh", "-c", "echo in the namespace; exec cat"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # To the end of this process.
        self.process.stdout.readline()
        self.path = f"/proc/{self.process.pid}/ns/net"
        call("ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", str(self.process.pid))
        call("ip", "link", "set", self.link, "master", "hub0", "up")
        for command in (("link", "set", "lo", "up"), ("addr", "add", f"{self.address}/24", "dev", "eth0"),
                        ("link", "set", "eth0", "up")):
            call("nsenter", f"--net={self.path}", "ip", *command)

    def sent_bytes(self):
        """All that has left the host."""
        shown = subprocess.run(["ip", "-json", "-statistics", "link", "show", "dev", self.link], check=True,
                               capture_output=True, text=True)
        return json.loads(shown.stdout)[0]["stats64"]["rx"]["bytes"]

    def close(self):
        self.process.communicate()


@own_servers
class Relays(Cli):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0 or ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
            raise unittest.SkipTest("this user cannot make network namespaces")
        call("ip", "link", "set", "lo", "up")
        call("ip", "link", "add", "hub0", "type", "bridge")
        call("ip", "addr", "add", "10.78.0.1/24", "dev", "hub0")
        call("ip", "link", "set", "hub0", "up")
        cls.hosts = [Host(1), Host(2)]
        for host in cls.hosts:
            cls.addClassCleanup(host.close)

    def begin_on_hosts(self, *options):
        """Half of the workers are on each host, all other children on the first one."""
        first, second = self.hosts
        children = ["zookeeper:1", "coordinator:0", "coordinator:1", *(f"worker:{i}" for i in range(WORKERS))]
        on = {name: second if name[:6] == "worker" and int(name[7:]) >= WORKERS // 2 else first for name in children}
        networks = {name: {"namespace": host.path, "address": host.address} for name, host in on.items()}
        (self.folder / "networks.json").write_text(json.dumps({"version": 1, "networks": networks}))
        return self.begin("--networks", "networks.json", *JOB, *options)

    def end_as_local(self, run):
        result = self.end(run)
        expected = self.alone(QUICK, "local", *JOB, "--set", f"train.steps={result['steps']}", *FEW)
        self.assertEqual(result["parameters_digest"], expected["parameters_digest"])
        self.assertEqual([each["steps_redone"] for each in result["recoveries"] if each["steps_redone"] != 0], [])
        return result

    def sent_by_step(self, host, steps):
        """Bytes that leave the host in a step, as a multiple of the parameters."""
        since, sent = self.wait_step()["step"], host.sent_bytes()
        reached = self.wait_step(since + steps)["step"]
        return (host.sent_bytes() - sent) / (reached - since) / PARAMETERS_BYTES

    def test_a_host_sends_one_sum(self):
        """Two nodes of the tree for each range of the other host, and one answer for each of its own: 1.5 times the
        parameters. Without relays three workers would send and ask for as much each: 3 times."""
        run = self.begin_on_hosts()
        self.wait_step(100)  # Before that, not all workers may have slices.
        for host in self.hosts:
            self.assertLess(self.sent_by_step(host, 300), 2.2)
        self.end_as_local(run)

    def test_relays_are_killed(self):
        """SIGKILL to each worker: no step is computed again."""
        run = self.begin_on_hosts()
        for index in range(WORKERS):
            self.wait_tasks()
            self.kill_and_wait(f"worker:{index}")
        self.end_as_local(run)

    def test_a_relay_is_frozen(self):
        """The others push to the owners meanwhile, and take its slices."""
        run = self.begin_on_hosts()
        pid = pids(self.wait_tasks())["worker:4"]
        self.freeze(pid)
        step = self.wait_step()["step"]
        self.wait_step(step + 20)
        self.thaw(pid)
        self.wait_step(self.wait_step()["step"] + 20)
        self.end_as_local(run)


if __name__ == "__main__":
    unittest.main(verbosity=2)
