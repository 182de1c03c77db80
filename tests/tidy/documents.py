#!/usr/bin/env python3
"""Checks that the documents match this tree.

  tests/tidy/documents.py [ROOT]

Links lead to a file and a heading. In `backticks`, files exist, constants and names_with_underscores (functions,
tests, keys) occur in the sources, and a function() named right after a file is defined in that file. The rows of a
table have as many cells as its head, none is a paragraph, and in "to change X, open Y" none answers two questions.
Other lines have at most 160 columns, and sentences at most 60 words. Rules (C11, P7) that comments cite are
defined in docs/protocol.md, invariants (I4) in docs/fault-tolerance.md, and a comment cites each rule. The times in
docs/protocol.md are those of the constants. Each finding is `file:line: what; remedy`. Exit status: 0 clean, 1
findings.
"""

import functools
import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()
FOLDERS = ("agent", "bench", "chaos", "checker", "cli", "common", "coordinator", "deploy", "docs", "evaluator", "examples", "graph", "group", "include", "library", "local", "mirror", "model",
         "data", "kernels", "ps", "scripts", "session", "tests", "worker")
# Not data/, examples/ and bench/: data sets have columns C1 to C26 and I1 to I13.
CITING = ("agent", "chaos", "checker", "cli", "common", "coordinator", "evaluator", "graph", "group", "include", "kernels",
          "local", "mirror", "model", "ps", "tests", "worker")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?[^)]*\)")
NAMED_FILE = re.compile(r"`((?:" + "|".join(FOLDERS) + r")/[\w./-]+\.[a-z]+)`")
CONSTANT = re.compile(r"`([A-Z]{2,}(?:_[A-Z]+)+)`")
NAME = re.compile(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?:\(\))?`")
FUNCTION_OF = re.compile(r"`([\w./-]+\.c)`(?:,|:) `(\w+)\(\)`")
COLUMNS_MAX = 160  # Tables and code may have longer lines.
WORDS_MAX = 60  # A link or `code` is one word.
CELL_MAX = 360  # Characters of a cell, without the targets of links.
TARGET = re.compile(r"(?<=\])\([^)]*\)")
SYSTEM = ("RLIMIT_",)  # The kernel's names; a document may use them although the code does not.
RULE = re.compile(r"(?<![\w.])([ACEGIMPRSTVWZ])(\d{1,2})(?: to \1(\d{1,2}))?(?!\w)")
DEFINED = re.compile(r"^- \*\*([A-Z]\d{1,2})\*\*")
INVARIANT = re.compile(r"^\| (I\d{1,2}) \|")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
TIME = re.compile(r"(\d+(?:\.\d+)?) (ms|s|min)\b")
MILLISECONDS = {"ms": 1, "s": 1000, "min": 60000}


def documents():
    for path in sorted(ROOT.glob("**/*.md")):
        parts = path.relative_to(ROOT).parts
        if not parts[0].startswith(("build", ".", "runs")):
            yield path


def sources(folders):
    for folder in folders:
        for ending in ("*.h", "*.c"):
            yield from sorted((ROOT / folder).glob(f"**/{ending}"))


def defines(path, function):
    return path.exists() and re.search(rf"^\w[^;=]*\b{function}\(", path.read_text(), re.MULTILINE)


def prose_lines(path):
    """The lines outside of code blocks, with their numbers."""
    is_code = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


@functools.lru_cache(maxsize=None)
def anchors(path):
    """The headings of a document, as links name them."""
    headings = (line.lstrip("#").strip().lower() for _, line in prose_lines(path) if line.startswith("#"))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings}


def check_links(path):
    for number, line in prose_lines(path):
        for file, heading in LINK.findall(line):
            target = path.parent / file if file else path
            if "://" in file:
                continue
            if not target.exists():
                yield number, f"the link to {file} leads nowhere; correct it"
            elif heading and target.suffix == ".md" and heading not in anchors(target.resolve()):
                yield number, f"{target.name} has no heading #{heading}; name an existing one"


def check_tables(path):
    cells = 0
    for number, line in prose_lines(path):
        count = line.replace("\\|", "").count("|") if line.startswith("|") else 0
        if cells and count and count != cells:
            yield number, f"the row has {count - 1} cells, the head of its table {cells - 1}; make them equal"
        cells = (cells or count) if count else 0
        longest = max(map(len, TARGET.sub("", line).split(" | "))) if count else 0
        if longest > CELL_MAX:
            yield number, f"a cell has {longest} characters; make it a list or a section, or {CELL_MAX} or less"
        if path.name == "architecture.md" and count == 3 and "; " in line.split("|")[2]:
            yield number, "the row answers two questions; write one row for each"


def check_columns(path):
    for number, line in prose_lines(path):
        if len(line) > COLUMNS_MAX and not line.lstrip().startswith("|") and path.name != "performance.md":  # Generated.
            yield number, f"{len(line)} columns; wrap the paragraph at {COLUMNS_MAX} or less"


def paragraphs(path):
    """(line of the beginning, text) of each paragraph and item of a list; not of tables."""
    start, lines = 0, []
    for number, line in [*prose_lines(path), (0, "")]:
        begins = re.match(r"\s*([-*]|\d+\.) ", line)
        if lines and (begins or not line.strip() or line.lstrip().startswith(("|", "#", ">"))):
            yield start, " ".join(lines)
            lines = []
        if line.strip() and not line.lstrip().startswith(("|", "#", ">")):
            start = start if lines else number
            lines.append(line.strip())


def check_sentences(path):
    for number, text in paragraphs(path):
        text = re.sub(r"\[[^\]]*\]\([^)]*\)|`[^`]*`", "x", text)
        longest = max(len(sentence.split()) for sentence in re.split(r"(?<=[.?!])\s+", text))
        if longest > WORDS_MAX:
            yield number, f"a sentence has {longest} words; write several, or a list"


def check_document(path, constants, names):
    yield from check_links(path)
    yield from check_tables(path)
    yield from check_columns(path)
    yield from check_sentences(path)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for name in NAMED_FILE.findall(line):
            if not (ROOT / name).exists() and "name" not in Path(name).stem:  # A pattern.
                yield number, f"{name} does not exist; name an existing file"
        for name in NAME.findall(line):
            if name not in names:
                yield number, f"{name} does not occur in the sources; name an existing one"
        for file, function in FUNCTION_OF.findall(line):
            if not defines(ROOT / file, function):
                yield number, f"{file} does not define {function}(); name its file"
        for name in CONSTANT.findall(line):
            if name not in constants and not name.startswith(SYSTEM):
                yield number, f"no constant is called {name}; name an existing one"


def cited_rules(text):
    """The rules that comments of C cite, with the numbers of their lines; of "W1 to W6" all six."""
    for comment in COMMENT.finditer(text):
        for cited in RULE.finditer(comment.group()):
            letter, first, last = cited.groups()
            number = text.count("\n", 0, comment.start() + cited.start()) + 1
            for index in range(int(first), int(last or first) + 1):
                yield number, f"{letter}{index}"


def check_rules():
    """Citations of rules that do not exist, and rules that no comment cites."""
    defined, cited = {}, set()
    for name, pattern in (("docs/protocol.md", DEFINED), ("docs/fault-tolerance.md", INVARIANT)):
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            for rule in pattern.findall(line):
                if rule in defined:
                    yield ROOT / name, number, f"rule {rule} is defined twice; give one another number"
                defined[rule] = (ROOT / name, number)
    for path in sources(CITING):
        for number, rule in cited_rules(path.read_text()):
            cited.add(rule)
            if rule not in defined:
                yield path, number, f"rule {rule} is not in docs/protocol.md; define it there, or cite another"
    for rule in sorted(defined.keys() - cited):
        yield *defined[rule], f"no comment cites rule {rule}; cite it where the code ensures it"


def check_times(constants):
    """In the table of times, each constant is one of the times of its row."""
    path = ROOT / "docs/protocol.md"
    text = path.read_text()
    for number, line in enumerate(text.splitlines(), 1):
        if number <= text.count("\n", 0, text.find("## Times")) or not line.startswith("| "):
            continue
        cells = line.split("|")
        times = {float(value) * MILLISECONDS[unit] for value, unit in TIME.findall(cells[2])}
        for name in CONSTANT.findall(cells[1]):
            if name.endswith("_MS") and not times & constants.get(name, set()):
                yield path, number, f"{name} is {sorted(constants.get(name, []))} ms in the code; correct the time"


def main():
    constants, names, values = set(), set(), {}
    for path in sources(FOLDERS):
        text = path.read_text()
        for name, value in re.findall(r"\b([A-Z][A-Z_]*_MS)\s*=\s*(\d+)\b", text):
            values.setdefault(name, set()).add(float(value))
        constants.update(re.findall(r"\b[A-Z]{2,}(?:_[A-Z0-9]+)+\b", text))
        names.update(re.findall(r"\b[a-z]\w*_\w+\b", text))
    for path in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("python/**/*.py"), *ROOT.glob("bench/**/*.py"), *ROOT.glob("chaos/plan/builtin/*.json")]:
        names.update(re.findall(r"\b[a-z]\w*_\w+\b", path.read_text()))
    for path in [*ROOT.glob("**/*.pml"), *ROOT.glob("scripts/*.sh"), *ROOT.glob("*.sh")]:
        constants.update(re.findall(r"\b[A-Z]{2,}(?:_[A-Z]+)+\b", path.read_text()))
    findings = [(path, *found) for path in documents() for found in check_document(path, constants, names)]
    findings += [*check_rules(), *check_times(values)]
    for path, number, what in findings:
        print(f"{path.relative_to(ROOT)}:{number}: {what}")
    print(f"documents: {len(findings)} findings" if findings else "documents: clean")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
