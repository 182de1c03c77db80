#!/usr/bin/env python3
"""A process of a run opens a port only if another node dials it: ps and coordinators, but no worker or agent.

A real run; every wait is bounded. TANIST_PROGRAM: the program.
"""

import os
import unittest

from case import LONG, Cli

LISTENING = "0A"


def listening_sockets(pid):
    """The number of listening sockets of a process."""
    inodes = set()
    for name in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{name}", encoding="utf-8") as table:
            inodes.update(line.split()[9] for line in table if line.split()[3] == LISTENING)
    count = 0
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{descriptor}")
        except FileNotFoundError:
            continue
        count += target.startswith("socket:[") and target[len("socket:["):-1] in inodes
    return count


class Ports(Cli):
    def test_only_dialed_nodes_listen(self):
        run = self.start(*LONG)
        status = self.wait_tasks()
        self.assertEqual(listening_sockets(run.pid), 0, "the agent")
        for task in status["tasks"]:
            expected = 0 if task["role"] == "worker" else 1
            with self.subTest(task=f"{task['role']}:{task['index']}"):
                self.assertEqual(listening_sockets(task["pid"]), expected)
        self.assertEqual({task["role"] for task in status["tasks"]}, {"coordinator", "ps", "worker"})
        self.assertEqual({task["address"] for task in status["tasks"] if task["role"] == "worker"},
                         {"tcp://127.0.0.1:0"})
        self.end(run)


if __name__ == "__main__":
    unittest.main()
