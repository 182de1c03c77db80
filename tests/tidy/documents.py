#!/usr/bin/env python3
"""Checks that the documents match this tree.

  tests/tidy/documents.py

Links lead to a file. In `backticks`, files exist, constants and names_with_underscores (functions, tests, keys)
occur in the sources, and a function() named right after a file is defined in that file. Rules that the code
cites (C11, P7) are defined in docs/protocol.md. Each finding is `file:line: what; remedy`. Exit status: 0 clean,
1 findings.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("agent", "bench", "chaos", "checker", "cli", "common", "coordinator", "deploy", "docs", "evaluator", "examples", "graph", "group", "include", "library", "local", "mirror", "model",
         "data", "kernels", "ps", "scripts", "session", "tests", "worker")
CITING = ("agent", "checker", "common", "coordinator", "data", "evaluator", "group", "mirror", "ps", "worker")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
NAMED_FILE = re.compile(r"`((?:" + "|".join(FOLDERS) + r")/[\w./-]+\.[a-z]+)`")
CONSTANT = re.compile(r"`([A-Z]{2,}(?:_[A-Z]+)+)`")
NAME = re.compile(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?:\(\))?`")
FUNCTION_OF = re.compile(r"`([\w./-]+\.c)`(?:,|:) `(\w+)\(\)`")
SYSTEM = ("RLIMIT_",)  # The kernel's names; a document may use them although the code does not.
RULE = re.compile(r"(?<![\w.])([ACEPRSTWZ]\d{1,2})(?!\w)")
DEFINED = re.compile(r"\*\*([ACEPRSTWZ]\d{1,2})\*\*")


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


def check_document(path, constants, names):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for target in LINK.findall(line):
            if "://" not in target and not (path.parent / target).exists():
                yield number, f"the link to {target} leads nowhere; correct it"
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


def check_citations(path, rules):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        comment = re.search(r"(/\*.*|^ \*.*)", line)
        for rule in RULE.findall(comment.group(1)) if comment else ():
            if rule not in rules:
                yield number, f"rule {rule} is not in docs/protocol.md; define it there, or cite another"


def main():
    constants, names = set(), set()
    for path in sources(FOLDERS):
        text = path.read_text()
        constants.update(re.findall(r"\b[A-Z]{2,}(?:_[A-Z0-9]+)+\b", text))
        names.update(re.findall(r"\b[a-z]\w*_\w+\b", text))
    for path in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("python/**/*.py"), *ROOT.glob("bench/**/*.py"), *ROOT.glob("chaos/plan/builtin/*.json")]:
        names.update(re.findall(r"\b[a-z]\w*_\w+\b", path.read_text()))
    for path in [*ROOT.glob("**/*.pml"), *ROOT.glob("scripts/*.sh"), *ROOT.glob("*.sh")]:
        constants.update(re.findall(r"\b[A-Z]{2,}(?:_[A-Z]+)+\b", path.read_text()))
    rules = set(DEFINED.findall((ROOT / "docs/protocol.md").read_text()))
    findings = [(path, *found) for path in documents() for found in check_document(path, constants, names)]
    findings += [(path, *found) for path in sources(CITING) for found in check_citations(path, rules)]
    for path, number, what in findings:
        print(f"{path.relative_to(ROOT)}:{number}: {what}")
    print(f"documents: {len(findings)} findings" if findings else "documents: clean")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
