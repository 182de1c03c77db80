#!/usr/bin/env python3
"""`tanist plot` and `tanist compare`: curves in the terminal and as files, differences of jobs and results.

The files are checked by Python's own parsers. TANIST_PROGRAM: the program.
"""

import json
import os
import struct
import unittest
import xml.etree.ElementTree as xml
import zlib

from case import Cli, QUICK, ROOT

SVG = "{http://www.w3.org/2000/svg}"


def nearest(kind, left, above, corner):
    """The number that filter `kind` of PNG adds to a byte."""
    guess = left + above - corner
    paeth = min((left, above, corner), key=lambda value: abs(guess - value))
    return (0, left, above, (left + above) // 2, paeth)[kind]


def read_png(data):
    """The rows of an image of three bytes a pixel, whose chunks have the right sums."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        content = data[at + 8:at + 8 + length]
        assert zlib.crc32(kind + content) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0]
        chunks[kind] = chunks.get(kind, b"") + content
        at += 12 + length
    width, height, *form = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert form == [8, 2, 0, 0, 0] and b"IEND" in chunks
    stride, body = 3 * width, zlib.decompress(chunks[b"IDAT"])
    assert len(body) == height * (stride + 1)
    rows = [bytes(stride)]
    for y in range(height):
        kind, *row = body[y * (stride + 1):(y + 1) * (stride + 1)]
        for i in range(stride if kind else 0):
            left, corner = (row[i - 3], rows[-1][i - 3]) if i >= 3 else (0, 0)
            row[i] = (row[i] + nearest(kind, left, rows[-1][i], corner)) & 255
        rows.append(bytes(row))
    return rows[1:]


class Plot(Cli):
    def setUp(self):
        super().setUp()
        for name, rate in (("a", "0.05"), ("b", "0.02")):
            self.succeeds("run", QUICK, "--local", "--dir", name, "-q", "--set", f"train.learning_rate={rate}",
                          "--set", "metrics.every_steps=10", "--set", "evaluate.every_steps=50")

    def test_terminal(self):
        """Both runs are drawn, and the legend names them."""
        out = self.succeeds("plot", "a", "b", "--log", env={"LC_ALL": "C"})
        self.assertIn("*** a\n", out)
        self.assertIn("+++ b\n", out)
        self.assertTrue(out.startswith("loss\n"))
        self.assertNotIn("\x1b", out)
        braille = self.succeeds("plot", "a", "--metric", "accuracy", env={"LC_ALL": "C.UTF-8"})
        self.assertTrue(any("\u2800" < character <= "\u28ff" for character in braille))

    def test_json(self):
        """The points are those of metrics.jsonl."""
        runs = json.loads(self.succeeds("plot", "a", "b", "-o", "json", "--metric", "loss", "--metric",
                                        "accuracy"))["runs"]
        self.assertEqual([run["dir"] for run in runs], ["a", "b"])
        self.assertEqual([step for step, _ in runs[0]["metrics"]["accuracy"]], [*range(50, 301, 50)])
        written = [json.loads(line) for line in (self.folder / "a/metrics.jsonl").read_text().splitlines()]
        self.assertEqual(runs[0]["metrics"]["loss"], [[entry["step"], entry["loss"]] for entry in written
                                                      if "event" not in entry and "loss" in entry])

    def test_svg_and_html(self):
        """Well-formed, a line for each run and metric, names escaped, nothing from elsewhere."""
        os.rename(self.folder / "b", self.folder / "<b>&")
        self.succeeds("plot", "a", "<b>&", "--metric", "loss", "--metric", "accuracy", "--to", "c.svg")
        root = xml.parse(self.folder / "c.svg").getroot()
        self.assertEqual(root.tag, SVG + "svg")
        lines = [line.get("points").split() for line in root.iter(SVG + "polyline")]
        self.assertEqual([len(line) for line in lines if len(line) > 2], [30, 30, 6, 6])
        self.assertIn("<b>&", [text.text for text in root.iter(SVG + "text")])
        self.succeeds("plot", "a", "<b>&", "--to", "c.html")
        page = (self.folder / "c.html").read_text()
        self.assertIn("&lt;b&gt;&amp;", page)
        self.assertNotIn("<b>", page)
        for foreign in ("src=", "href=", "<script", "@import", "url("):
            self.assertNotIn(foreign, page)

    def test_png(self):
        """The image shows what the SVG file of the same curves describes, with two pixels for one."""
        self.succeeds("plot", "a", "b", "--to", "c.png")
        self.succeeds("plot", "a", "b", "--to", "c.svg")
        rows = read_png((self.folder / "c.png").read_bytes())
        root = xml.parse(self.folder / "c.svg").getroot()
        self.assertEqual([2 * int(root.get(side)) for side in ("width", "height")], [len(rows[0]) / 3, len(rows)])

        def colors(left, top, right, bottom):
            return {rows[y][3 * x:3 * x + 3].hex() for y in range(int(top), int(bottom))
                    for x in range(int(left), int(right))}

        lines = [line for line in root.iter(SVG + "polyline") if line.get("stroke") in ("#0072b2", "#d55e00")]
        self.assertEqual(len(lines), 4)
        for line in lines:
            places = [tuple(2 * float(number) for number in place.split(",")) for place in line.get("points").split()]
            shown = [line.get("stroke")[1:] in colors(x - 1, y - 1, x + 1, y + 1) for x, y in places]
            # The second curve may cover a part of the first one.
            self.assertGreaterEqual(sum(shown), 2 if line.get("stroke") == "#0072b2" else len(shown), places)
        for text in root.iter(SVG + "text"):
            x, y = 2 * float(text.get("x")), 2 * float(text.get("y"))
            x -= {"start": 0, "middle": 12, "end": 24}[text.get("text-anchor")]
            self.assertIn(text.get("fill")[1:], colors(x, y - 24, x + 24, y), text.text)
        self.assertEqual(colors(0, 0, 100, 20), {"ffffff"})

    def test_files_have_the_usual_mode(self):
        """The umask alone restricts the readers of a chart, as for files of a shell."""
        for name in ("c.svg", "c.html", "c.png"):
            self.tanist("plot", "a", "--to", name, umask=0o022)
            self.assertEqual((self.folder / name).stat().st_mode & 0o777, 0o644)

    def test_errors(self):
        self.refused(3, ["auc", "loss, steps_per_second"], "plot", "a", "--metric", "auc")
        self.refused(3, ["--to", ".svg"], "plot", "a", "--to", "c.gif")
        self.refused(3, ["missing", "metrics.jsonl"], "plot", "missing")
        self.refused(3, ["missing", "job.json"], "compare", "a", "missing")

    def test_compare(self):
        """Only keys that differ; results side by side, also of a run without a result."""
        found = json.loads(self.succeeds("compare", "a", "b", "-o", "json"))
        self.assertEqual(found["job"], {"train.learning_rate": [0.05, 0.02]})
        self.assertEqual(found["result"]["steps"], [300, 300])
        digests = found["result"]["parameters_digest"]
        self.assertNotEqual(digests[0], digests[1])
        shown = (ROOT / "docs/cli-observe.md").read_text().split("RESULT ", 1)[1].split("```")[0]
        self.assertEqual([line.split()[0] for line in shown.splitlines()[1:]], list(found["result"]), "in docs/cli-observe.md")
        self.assertIn("The jobs are the same.", self.succeeds("compare", "a", "a"))
        os.unlink(self.folder / "b/result.json")
        found = json.loads(self.succeeds("compare", "a", "b", "-o", "json"))["result"]
        self.assertEqual((found["steps"], found["last_step"]), ([300, None], [300, 300]))
        self.assertIn("train.learning_rate  0.05  0.02", self.succeeds("compare", "a", "b"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
