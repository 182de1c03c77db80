"""Checks the messages of commits: a subject that names its folder, and a body that gives the reason."""

import re
import subprocess
from pathlib import Path

BASE = "ca4bf00"  # Commits up to this one are history; the rule is for those that follow.
SUBJECT_COLUMNS = 72
TRIVIAL_LINES = 20  # A change of so few lines needs no body.
WHOLE_TREE = ("all", "build", "layout", "release")
SUBJECT = re.compile(r"([\w./-]+(?:, [\w./-]+)*): (\S.*)")
UNFINISHED = re.compile(r"\b(wip\b|fixup!|squash!|tmp\b|temp commit)", re.IGNORECASE)


def git(root, *arguments):
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def wrong(subject, body, changed_lines, is_folder):
    """Each thing that is wrong with one message."""
    if len(subject) > SUBJECT_COLUMNS:
        yield f"the subject has {len(subject)} columns, the limit is {SUBJECT_COLUMNS}; move details to the body"
    match = SUBJECT.fullmatch(subject)
    if match is None:
        yield 'the subject is not "folder: change"; name the folder that it changes'
    else:
        for name in match.group(1).split(", "):
            if not is_folder(name):
                yield f'the subject begins with "{name}", which is not a folder; name the folder that it changes'
    if subject.endswith("."):
        yield "the subject ends with a period; remove it"
    if UNFINISHED.search(subject):
        yield "the subject marks unfinished work; squash it into the commit that finishes it"
    if not body.strip() and changed_lines > TRIVIAL_LINES:
        yield f"{changed_lines} lines changed without a body; write why"


def changed_lines(root, commit):
    numbers = re.findall(r"^(\d+)\t(\d+)\t", git(root, "show", "--format=", "--numstat", commit) or "", re.M)
    return sum(int(added) + int(removed) for added, removed in numbers)


def reason_to_skip(root, base):
    if git(root, "rev-parse", "--git-dir") is None:
        return "not a git checkout"
    if git(root, "merge-base", "--is-ancestor", base, "HEAD") is None:
        return f"commit {base} is not in the history: a shallow clone?"
    return None


def is_folder(root, name):
    path = Path(root) / name
    return name in WHOLE_TREE or path.exists() or path.with_suffix(".md").exists()


def check(args):
    base = args.base or BASE
    log = git(args.root, "log", "--no-merges", "--format=%h%x1f%s%x1f%b%x1e", f"{base}..HEAD")
    for entry in filter(None, (entry.strip("\n") for entry in log.split("\x1e"))):
        commit, subject, body = entry.split("\x1f")
        for what in wrong(subject, body, changed_lines(args.root, commit), lambda name: is_folder(args.root, name)):
            yield commit, 1, f"{subject!r}: {what}"
