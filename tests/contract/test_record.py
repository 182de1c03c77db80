#!/usr/bin/env python3
"""After a run, its folder answers: status, elections and watch --history without a ZooKeeper.

Real runs; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import unittest

from case import LONG, STEADY, Cli, own_servers, patience


@own_servers
class Record(Cli):
    def json_of(self, command, *options):
        result = self.tanist(command, "--dir", "run", "-o", "json", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("is not active; this is the record of 20", result.stderr)
        return json.loads(result.stdout)

    def events(self):
        result = self.tanist("watch", "--history", "--dir", "run", "-o", "jsonl")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("this is the record of 20", result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_finished_run(self):
        done = self.start()
        out, errors = done.communicate(timeout=patience(120))
        self.assertEqual(done.returncode, 0, errors)
        result = json.loads(out)
        status = self.json_of("status")
        self.assertEqual((status["phase"], status["step"], status["epoch"]), ("done", 300, result["epoch"]))
        self.assertEqual(status["checkpoint"], result["checkpoint"])
        self.assertEqual({task["state"] for task in status["tasks"]} & {"chief"}, {"chief"})
        self.assertTrue(status["recorded_at"].startswith("20"))
        text = self.tanist("status", "--dir", "run").stdout
        self.assertTrue(text.startswith("record of 20"), text)
        self.assertEqual([entry["epoch"] for entry in self.json_of("elections")["elections"]], [1])
        names = [event["event"] for event in self.events()]
        for name in ("elected", "running", "checkpoint", "done"):
            self.assertIn(name, names)

    def wait_recorded(self, epoch):
        """Until the folder shows the election of an epoch at least as high, and a running phase; returns the epoch."""
        def recorded():
            try:
                state = json.loads((self.folder / "run/record.json").read_text())
            except (FileNotFoundError, json.JSONDecodeError):  # Not written yet.
                return None
            last = max([entry["epoch"] for entry in self.history() if entry["kind"] == "elected"], default=0)
            now = (state.get("chief", {}).get("epoch"), state.get("run", {}).get("phase"))
            return last if last >= epoch and now == (last, "running") else None
        return self.wait_for(f"an election of epoch {epoch} in the record", recorded)

    def test_killed_agent(self):
        """A kill leaves the last state, and a resumed run continues the history without repetition."""
        epoch = 0
        for _ in range(2):
            run = self.start(*LONG, *STEADY)
            self.wait_step(200)
            epoch = self.wait_recorded(epoch + 1)
            self.assertEqual(self.tanist("resign", "--dir", "run").returncode, 0)
            epoch = self.wait_recorded(epoch + 1)
            self.kill_run(run)
            status = self.json_of("status")
            self.assertEqual((status["phase"], status["epoch"]), ("running", epoch))
        epochs = [entry["epoch"] for entry in self.json_of("elections")["elections"]]
        self.assertEqual(epochs, list(range(1, epoch + 1)))
        lines = [json.dumps(event) for event in self.events()]
        self.assertEqual(len(lines), len(set(lines)))

    def test_no_record(self):
        """A folder that an agent uses is never answered from the record."""
        run = self.begin()
        live = self.tanist("status", "--dir", "run", "-o", "json")
        self.assertNotIn("recorded_at", json.loads(live.stdout))
        run.kill()
        run.communicate(timeout=patience(120))
        (self.folder / "run/record.json").write_text("{")
        self.refused(5, ["is not active", "continue it", "run/record.json: it is damaged"], "status", "--dir", "run")


if __name__ == "__main__":
    unittest.main(verbosity=2)
