"""Runs clang-tidy over the product, and remembers the files in which it found nothing.

The cache is shared by all checkouts of this user: $XDG_CACHE_HOME/tanist/lint (~/.cache/tanist/lint). Its
key is everything that clang-tidy's findings depend on, with paths relative to the root: the file, all that it
includes from this tree, .clang-tidy, the compiler's flags and the version of clang-tidy.
"""

import hashlib
import json
import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
DAYS_KEPT = 30
# The states that clang-analyzer visits in a function: its default is 225,000, which takes four times as long.
# TANIST_LINT_DEEP, which ./test.sh --all sets, chooses the default.
ANALYZER_STATES = 60000
FINDING = re.compile(r"(/[^:]+):(\d+):\d+: (?:warning|error): (.*)")


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tanist" / "lint"


def prune(cache):
    """Removes the entries that were not used for DAYS_KEPT."""
    oldest = time.time() - DAYS_KEPT * 86400
    for path in cache.iterdir():
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)


class Digests:
    """The key of each translation unit. Every file is read once."""

    def __init__(self, root, build, known):
        self.root, self.build, self.known = root, build, known
        self.files = {}

    def read(self, path):
        """(digest, names of its includes), or None when it is not a file of this tree."""
        if path not in self.files:
            text = path.read_bytes() if path.is_file() else None
            self.files[path] = text and (hashlib.sha256(text).digest(), INCLUDE.findall(text))
        return self.files[path]

    def included(self, path):
        """`path` and all that it includes from this tree, as (path relative to the root, digest)."""
        todo, seen = [path], {}
        while todo:
            here = todo.pop()
            found = self.read(here) if here not in seen else None
            if found:
                seen[here] = found[0]
                for name in found[1]:
                    todo += [base / name.decode() for base in (here.parent, self.root, self.root / "include")]
        return sorted((os.path.relpath(path, self.root), digest) for path, digest in seen.items())

    def of(self, entry):
        flags = " ".join(entry["command"].split(" -")[1:])  # Without the compiler's own name.
        flags = flags.replace(str(self.build), "BUILD").replace(str(self.root), "ROOT")
        key = hashlib.sha256(self.known.encode())
        key.update(flags.encode())
        for name, digest in self.included(Path(entry["file"])):
            key.update(name.encode() + b"\0" + digest)
        return key.hexdigest()


def entries_of(build, root, folders):
    """The product's entries of compile_commands.json, one a file."""
    wanted = tuple(f"{root}/{folder}/" for folder in folders)
    entries = json.loads((build / "compile_commands.json").read_text())
    return list({entry["file"]: entry for entry in reversed(entries)
                 if entry["file"].startswith(wanted) and entry["file"].endswith(".c")}.values())


def arguments():
    """The arguments of clang-tidy that hold for all files."""
    extra = ["-Wno-unknown-warning-option"]
    if not os.environ.get("TANIST_LINT_DEEP"):
        extra += ["-Xclang", "-analyzer-config", "-Xclang", f"max-nodes={ANALYZER_STATES}"]
    return ["--quiet", *(f"--extra-arg={argument}" for argument in extra)]


def lint(clang_tidy, build, path):
    """The output of clang-tidy for one file; "" when it finds nothing."""
    done = subprocess.run([clang_tidy, *arguments(), "-p", str(build), path], capture_output=True, text=True,
                          check=False)
    found = "warning:" in done.stdout or "error:" in done.stdout
    if done.returncode == 0 and not found:
        return ""
    return done.stdout if found else f"{path}: clang-tidy failed: {done.stderr}"


def check(args, clang_tidy, folders):
    root, build = Path(args.root).resolve(), Path(args.build).resolve()
    version = subprocess.run([clang_tidy, "--version"], capture_output=True, text=True, check=True).stdout
    digests = Digests(root, build, " ".join([version, *arguments(), (root / ".clang-tidy").read_text()]))
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    prune(cache)

    todo = []
    for entry in entries_of(build, root, folders):
        mark = cache / digests.of(entry)
        if mark.exists():
            mark.touch()
        else:
            todo.append((entry["file"], mark))

    def one(work):
        path, mark = work
        report = lint(clang_tidy, build, path)
        if not report:
            mark.touch()
        return report

    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        reports = list(pool.map(one, todo))
    findings = set()
    for (path, _), report in zip(todo, reports):
        found = {(os.path.relpath(match.group(1), root), int(match.group(2)), match.group(3))
                 for match in map(FINDING.match, report.splitlines()) if match}
        findings |= found if found or not report else {(os.path.relpath(path, root), 1, report)}
    yield from sorted(findings)
