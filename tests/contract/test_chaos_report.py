#!/usr/bin/env python3
"""The report of a campaign as a browser reads it: well-formed, self-contained, of a reasonable size.

TANIST_PROGRAM: the program. No browser and no network is needed.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("TANIST_PROGRAM", str(ROOT / "build/tanist"))
GOLDEN = ROOT / "tests/unit/chaos/history/golden_history.jsonl"
VOID = {"meta", "br", "link", "img", "input", "hr"}
# HTML closes these itself.
LOOSE = {"tr", "td", "th", "thead", "tbody", "tfoot", "li"}
ROUNDS = 40


class Page(HTMLParser):
    """Checks that elements are closed in order, and collects ids and links."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.ids, self.links = [], [], [], []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.links += [attributes[name] for name in ("href", "src") if name in attributes]
        if tag not in VOID and tag not in LOOSE:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID and tag not in LOOSE:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in LOOSE:
            return
        if not self.open or self.open[-1] != tag:
            self.wrong.append((tag, self.getpos(), self.open[-3:]))
        else:
            self.open.pop()


class Report(unittest.TestCase):
    """A campaign of many rounds. Two failed, one of them because its history cannot be read."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="tanist-report."))
        lines = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
        for number in range(1, ROUNDS + 1):
            folder = cls.folder / f"round-{number:04}"
            folder.mkdir()
            lines[0]["round"] = number
            lines[-1]["ok"] = number != 7
            (folder / "history.jsonl").write_text(
                "".join(json.dumps(line) + "\n" for line in lines))
        (cls.folder / "round-0009/history.jsonl").write_text("no history\n")
        cls.done = subprocess.run([PROGRAM, "chaos", "report", str(cls.folder)], timeout=60,
                                  capture_output=True, text=True, check=False)
        cls.html = (cls.folder / "report.html").read_text()
        cls.page = Page()
        cls.page.feed(cls.html)
        cls.json = json.loads((cls.folder / "report.json").read_text())

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def test_command_prints_the_path(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual(self.done.stdout.strip(), f"{self.folder}/report.html")

    def test_page_is_well_formed(self):
        self.assertEqual(self.page.wrong, [])
        self.assertEqual(self.page.open, [])
        self.assertEqual(len(self.page.ids), len(set(self.page.ids)), "an id is used twice")

    def test_pictures_are_valid_xml(self):
        pictures = re.findall(r"<svg.*?</svg>", self.html, re.DOTALL)
        self.assertGreater(len(pictures), ROUNDS)
        for picture in pictures:
            ElementTree.fromstring(picture)

    def test_numbers_are_finite(self):
        for word in ("nan", "inf"):
            self.assertIsNone(re.search(rf'[" ,MVHL]-?{word}[" ,]', self.html), word)

    def test_page_loads_no_other_file(self):
        self.assertTrue(all(link.startswith("#") for link in self.page.links), self.page.links)
        self.assertNotIn("@import", self.html)
        self.assertNotIn("//", re.sub(r"<pre.*?</pre>", "", self.html, flags=re.DOTALL))

    def test_links_have_targets(self):
        wanted = {link[1:] for link in self.page.links}
        self.assertEqual(wanted - set(self.page.ids), set())

    def test_failed_rounds_are_open(self):
        opened = re.findall(r'<details class="round (\w+)" id="round-(\d+)" open>', self.html)
        self.assertEqual(opened, [("passed", "1"), ("failed", "7"), ("failed", "9")])
        self.assertIn("tanist chaos replay round-0007/history.jsonl", self.html)
        self.assertIn("tanist chaos shrink round-0007/history.jsonl", self.html)

    def test_sums_are_over_all_rounds(self):
        campaign = self.json["campaign"]
        self.assertEqual((campaign["rounds"], campaign["passed"], campaign["failed"]),
                         (ROUNDS, ROUNDS - 2, 2))
        self.assertEqual(campaign["faults"], sum(campaign["faults_by_kind"].values()))
        self.assertEqual(campaign["faults"], sum(campaign["faults_by_moment"].values()))
        self.assertEqual(len(self.json["recoveries"]), 3 * (ROUNDS - 1))

    def test_page_is_small(self):
        self.assertLess(len(self.html) / ROUNDS, 40_000)

    def test_folder_without_rounds_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([PROGRAM, "chaos", "report", folder], timeout=60, check=False,
                                  capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("give the --dir of a campaign", done.stderr)


if __name__ == "__main__":
    unittest.main()
