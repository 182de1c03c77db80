"""A C file as the checks see it: its lines, its code without comments and strings, its functions."""

import re
from pathlib import Path

FOLDERS = ("common", "graph", "group", "model", "kernels", "coordinator", "ps", "data", "worker", "evaluator", "library", "local", "mirror", "agent", "checker", "session",
           "chaos", "cli", "include", "examples", "bench", "tests")
SUFFIXES = (".c", ".h", ".cu", ".cuh")

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def blank(match):
    """The same number of lines, without the text; a string keeps its quotes."""
    text = match.group(0)
    if text[0] in "\"'":
        return text[0] + text[0]
    return "\n" * text.count("\n") or " "


class Source:
    """One file. `code` holds its lines without comments and without the contents of strings."""

    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.split("\n")
        if self.lines and self.lines[-1] == "":
            self.lines.pop()
        self.code = TOKEN.sub(blank, self.text).split("\n")

    @property
    def top(self):
        return self.path.split("/", 1)[0]

    @property
    def folder(self):
        return self.path.rsplit("/", 1)[0]

    def includes(self):
        """(line, name, is_local) of each include."""
        for number, line in enumerate(self.lines, 1):
            match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if match:
                yield number, match.group(2), match.group(1) == '"'

    def functions(self):
        """(first line, number of lines, name). A body opens with a brace alone in column one."""
        first = None
        for number, line in enumerate(self.code, 1):
            if line.rstrip() == "{":
                first = self.signature(number)
            elif line.startswith("}") and first is not None:
                body = " ".join(self.code[first - 1:number])
                name = re.search(r"(\w+)\s*\(", body)
                yield first, number - first + 1, name.group(1) if name else "?"
                first = None

    def signature(self, brace):
        """The line on which the declaration above a body's brace begins."""
        first = brace
        while first > 1:
            above = self.code[first - 2].strip()
            if not above or above[-1] in ";}" or above[0] == "#":
                break
            first -= 1
        return first


def load(root):
    """Every C file of the tree, in order, without build folders."""
    root = Path(root)
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                found.append(Source(root, path))
    return found
