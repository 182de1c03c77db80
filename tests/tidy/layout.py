"""Checks the places of files: unit tests mirror the modules, a header's first line is its path."""

import re
from pathlib import Path

from source import load

# Unit tests of several modules at once: the path, and the modules that are tested together.
TOGETHER = {
    "tests/unit/coordinator/test_failover.c": "chief.c, chief_evaluate.c, chief_plan.c, chief_requests.c and chief_save.c",
    "tests/unit/coordinator/test_departures.c": "chief_assign.c, chief_depart.c, chief_drain.c and chief_mirror.c",
    "tests/unit/chaos/plan/test_reference.c": "fault_list.h and docs/chaos.md",
    "tests/unit/ps/test_step_rows.c": "ps/step.c, ps/step_chunks.c and ps/step_sync.c",
    "tests/unit/roles/test_async.c": "ps/step_async.c and worker/training_loop.c",
    "tests/unit/roles/test_together.c": "ps/step.c and worker/training_loop.c",
    "tests/unit/worker/test_training_loop_chunks.c": "common/net/chunks.h and worker/training_loop.c",
    "tests/unit/worker/test_training_loop_end.c": "worker/training_loop.c, where the end moves",
    "tests/unit/worker/test_training_loop_reset.c": "worker/training_loop.c, as the head of a group uses it",
    "tests/unit/worker/test_training.c": "data/dataset.c, data/shuffle.c and kernels/optimizer.c",
}
PATH = re.compile(r"/\*\s*(?:\* )?((?:[\w-]+/)*[\w-]+\.[ch])\b")


def has_module(root, test):
    """tests/unit/ps/test_step.c has ps/step.c; tests/unit/sim/test_x.c has tests/sim/x.c."""
    folder, name = re.fullmatch(r"tests/unit/(?:(.*)/)?test_(\w+)\.c", test).groups()
    places = [Path(root, folder or ""), Path(root, "tests", folder or "")]
    return any((place / f"{name}{suffix}").exists() for place in places for suffix in (".c", ".h", ".inc"))


def check(args):
    present = set()
    for source in load(args.root):
        present.add(source.path)
        if re.fullmatch(r"tests/unit/(.*/)?test_\w+\.c", source.path):
            if source.path not in TOGETHER and not has_module(args.root, source.path):
                module = source.path.replace("tests/unit/", "").replace("test_", "")
                yield source.path, 1, f"there is no module {module}; rename the test after the module it tests"
        first = PATH.match(" ".join(source.lines[:2]))
        path = re.sub(r"^include/", "", source.path)
        named = first.group(1) if first else ""
        if source.path.startswith("tests/") and named and named != path:
            if "/" in named and not Path(args.root, named).exists():
                yield source.path, 1, f"its first line names {named}, which does not exist; name the module it tests"
        elif "/" in named and named != path:
            yield source.path, 1, f"its first line names {named}; write {path}"
        elif not named and source.path.endswith(".h") and not source.path.startswith("tests/"):
            yield source.path, 1, f"its first line does not name it; begin with /* {path}: ..."
    if Path(args.root, "tests/unit").exists():
        for path in sorted(TOGETHER.keys() - present if present & TOGETHER.keys() else ()):
            yield "tests/tidy/layout.py", 1, f"TOGETHER names {path}, which does not exist; remove the row"
