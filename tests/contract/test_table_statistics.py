#!/usr/bin/env python3
"""Statistics of tables while a cluster trains them: `tanist status`, `tanist top` and metrics.jsonl agree with each other,
and keep answering while nodes die.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import signal
import unittest

from case import LONG, Cli, pids, small_table_job

PS = 2


class TableStatistics(Cli):
    def setUp(self):
        super().setUp()
        self.json = small_table_job({"steps": 50_000_000}, evaluate={"every_steps": 0},
                                    checkpoint={"every_steps": 200, "keep": 2},
                                    cluster={"coordinators": 1, "ps": PS, "workers": 2})

    def start_run(self):
        run = self.spawn("run", self.job(json.dumps(self.json)), "--dir", "run", "-o", "json")
        self.wait_tasks()
        return run

    def tables(self):
        """The tables in `tanist status`, or None while it shows none."""
        result = self.tanist("status", "--dir", "run", "-o", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout).get("tables")

    def complete(self):
        """Tables with rows, of all ps."""
        found = self.tables()
        whole = found and all(part is not None for table in found for part in table["ps"])
        return found if whole and all(table["rows"] > 0 and table["imbalance"] is not None for table in found) else None

    def check(self, tables):
        self.assertEqual(len(tables), 56)
        for table in tables:
            self.assertEqual(len(table["ps"]), PS)
            for key in ("rows", "bytes", "lookups", "updates"):
                self.assertEqual(table[key], sum(part[key] for part in table["ps"]), key)
            self.assertGreaterEqual(table["hot_share"], table["hottest_share"])
            self.assertLessEqual(table["hot_share"], 1)
            self.assertGreater(table["hottest_share"], 0)
            self.assertGreaterEqual(table["imbalance"], 1)
            self.assertLessEqual(table["imbalance"], PS)
            self.assertGreater(table["bytes"], 16 * table["rows"])

    def wait_complete(self):
        self.wait_for("tables of all ps", lambda: self.complete() is not None)
        return self.complete() or self.wait_complete()

    def test_figures_agree(self):
        """JSON, text, top and the metrics; rows are never more than those of the end."""
        run = self.start_run()
        before = self.wait_complete()
        self.check(before)
        self.wait_for("more updates", lambda: sum(table["updates"] for table in self.complete() or []) >
                      sum(table["updates"] for table in before))
        text = self.succeeds("status", "--dir", "run")
        self.assertRegex(text, r"\ntables: 56, with \d+ rows in \d+ bytes on 2 ps; "
                               r"the busiest has \d\.\d+ times the mean load\nTABLE +ROWS +BYTES")
        self.assertRegex(text, r"\n44 smaller tables: see -o json\n")
        self.assertRegex(text, r"\nps:1 +\d+ +\d+ +\d+ +\d+ +2048\n")
        frame = self.succeeds("top", "--dir", "run", "--once")
        self.assertRegex(frame, r"\n56 tables on 2 of 2 ps +\d+ +\d+ +\d+ +\d\.\d+\n\nROWS OF .* BUCKETS\n")
        self.assertRegex(frame, r"\nps:1 +\d+ +\d+ +\d+ +\d\.\d+ +2048\n")
        points = self.folder / "run/metrics.jsonl"
        self.wait_for("tables in the metrics", lambda: "table_rows" in points.read_text(encoding="utf-8"))
        self.succeeds("stop", "--dir", "run")
        self.result(run, timeout=120)
        lines = [json.loads(line) for line in points.read_text(encoding="utf-8").splitlines()]
        lines = [line for line in lines if "table_rows" in line]
        for line in lines:
            self.assertEqual(line["table_rows"], sum(table["rows"] for table in line["tables"]))
            self.assertGreater(line["step"], 0)
        rows = [line["table_rows"] for line in lines]
        self.assertEqual(rows, sorted(rows))
        self.assertIn("table_rows", self.succeeds("plot", "run", "--metric", "table_rows"))
        self.assertIsNone(self.tables())  # A record has none.

    def test_a_ps_that_was_restarted_is_not_idle(self):
        """The rows of ps:1 are nearly all; its counters begin again, and the imbalance stays."""
        self.json["placement"] = {"buckets": [100]}
        run = self.start_run()
        self.wait_imbalance()
        os.kill(pids(self.wait_tasks())["ps:1"], signal.SIGKILL)
        self.wait_tasks()
        self.assertGreater(self.wait_imbalance(), 1.5)
        self.succeeds("stop", "--dir", "run")
        self.result(run, timeout=120)

    def wait_imbalance(self):
        """Returns the imbalance of all tables, once both ps have made updates and looked rows up."""
        found = []

        def both_count():
            status = json.loads(self.succeeds("status", "--dir", "run", "-o", "json"))
            sums = [sum(table["ps"][ps]["updates"] if table["ps"][ps] else 0 for table in status.get("tables", []))
                    for ps in range(PS)]
            found.append(status.get("rows", {}).get("imbalance"))
            return all(sums)

        self.wait_for("updates of both ps", both_count)
        return found[-1]

    def test_kills_while_it_is_asked(self):
        """A ps, a worker and the chief die: each question is answered, and the figures return."""
        run = self.start_run()
        self.check(self.wait_complete())
        for name in ("ps:1", "worker:0", "chief"):
            status = self.wait_tasks()
            before = status["chief"]["pid"] if name == "chief" else pids(status)[name]
            os.kill(before, signal.SIGKILL)
            for _ in range(5):
                for table in self.tables() or []:
                    known = [part for part in table["ps"] if part is not None]
                    self.assertEqual(table["rows"], sum(part["rows"] for part in known))
                self.assertEqual(self.tanist("top", "--dir", "run", "--once").returncode, 0)
            self.wait_tasks()
            self.check(self.wait_complete())
        self.succeeds("stop", "--dir", "run")
        self.result(run, timeout=120)

    def test_without_tables_nothing_is_shown(self):
        self.start(*LONG)
        self.wait_tasks()
        self.assertIsNone(self.tables())
        self.assertNotIn("ables", self.succeeds("status", "--dir", "run"))
        self.assertNotIn("TABLE", self.succeeds("top", "--dir", "run", "--once"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
