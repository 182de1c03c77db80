"""Keeps the folder of a failed test of the program: the logs of the nodes, the record of the run and its checkpoints.
They are needed when the failure depends on the timing of a busy machine and cannot be repeated.

The copies are in TANIST_TEST_LOGS, by default build/test-logs/failed: the newest KEPT_MAX, each of at most BYTES_MAX.
Lines that begin with "kept" and "| " are printed, and ./test.sh repeats them.
"""

import contextlib
import os
import shutil
import stat
import sys
import time
from pathlib import Path

KEPT_MAX = 8
BYTES_MAX = 32 << 20
LINES, LOGS = 8, 24  # The number of last lines that are printed of each log, and of logs.
DEFAULT = Path(__file__).resolve().parent.parent.parent / "build/test-logs/failed"


def is_log(path):
    return path.suffix == ".log" or path.name == "progress"


def rank(entry):
    """Logs come first, then all but checkpoints, both the smallest first."""
    path, size = entry
    return 0 if is_log(path) else 2 if "checkpoints" in path.parts else 1, size


def files_of(folder):
    """The regular files, with their sizes; processes may still write and remove some."""
    found = []
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                found.append((path.relative_to(folder), status.st_size))
    return sorted(found, key=rank)


def copy(folder, to):
    """Copies as many files as fit; returns the numbers of files that were copied and left out, and their bytes."""
    copied = left = size = 0
    for path, bytes_of in files_of(folder):
        if size + bytes_of > BYTES_MAX:
            left += 1
            continue
        with contextlib.suppress(OSError):
            (to / path).parent.mkdir(parents=True, exist_ok=True)
            with open(folder / path, "rb") as source, open(to / path, "wb") as target:
                target.write(source.read(bytes_of))  # It may have grown.
            copied, size = copied + 1, size + bytes_of
    return copied, left, size


def remove_oldest(logs):
    """Leaves room for one more."""
    folders = sorted((path for path in logs.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for path in folders[:max(0, len(folders) - KEPT_MAX + 1)]:
        shutil.rmtree(path, ignore_errors=True)


def print_ends(folder):
    """The last lines of the logs, which may be long."""
    logs = [path for path, _ in files_of(folder) if is_log(path)]
    for path in sorted(logs)[:LOGS]:
        with contextlib.suppress(OSError):
            lines = (folder / path).read_text(encoding="utf-8", errors="replace").splitlines()[-LINES:]
            print("\n".join([f"| {path}", *(f"|   {line[:300]}" for line in lines)]), file=sys.stderr)


def keep(name, folder):
    """Keep the folder of the test `name`, which has just failed."""
    logs = Path(os.environ.get("TANIST_TEST_LOGS", DEFAULT))
    try:
        logs.mkdir(parents=True, exist_ok=True)
        remove_oldest(logs)
        to = logs / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        copied, left, size = copy(folder, to)
        print(f"kept of {name}: {copied} files, {size >> 10} KiB, {left} left out: {to}", file=sys.stderr)
        print_ends(to)
    except OSError as error:
        print(f"kept nothing of {name}: {error}", file=sys.stderr)
