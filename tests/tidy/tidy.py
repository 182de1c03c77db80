#!/usr/bin/env python3
"""Checks the rules of CONTRIBUTING.md that a program can check. One check a run:

  lengths     lines of a file, lines of a function, columns
  includes    which folder may include which
  ports       each library has one adapter
  calls       calls that are for one file only (clocks, random numbers), unfinished work, header guards
  purity      a pure core calls nothing outside itself
  failpoints  the list, the code and the documents agree
  layout      unit tests mirror the modules; the path on a file's first line is its own
  dialect     one way to write a thing in C (dialect.py)
  english     plain technical English (english.txt)
  commits     messages of the commits since commits.BASE
  format      clang-format
  lint        clang-tidy

Each finding is `file:line: what; remedy`. --count prints the number of findings by folder; --root may be
any other checkout. Exit status: 0 clean, 1 findings, 77 skipped: the tool for this check is missing.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import commits  # noqa: E402
import dialect  # noqa: E402
import english  # noqa: E402
import layout  # noqa: E402
import lint  # noqa: E402
from source import FOLDERS, load  # noqa: E402

FILE_LINES = 500
FUNCTION_LINES = 70
COLUMNS = 100
SKIPPED = 77

# Which folder may include which others. A folder may name only folders above it, so there is no cycle.
COMMON = {"common/base", "common/zk", "common/net", "common/cluster", "common/job", "common/faults", "common/node"}
ARROWS = {
    "include/tanist": set(),
    "common/base": set(),
    "common/zk": {"common/base"},
    "common/net": {"common/base"},
    "common/cluster": {"common/base", "common/zk", "common/net"},
    "common/job": {"common/base", "common/net", "common/cluster"},
    "common/faults": {"common/base"},
    "common/node": COMMON - {"common/node"},
    "kernels/portable": COMMON,
    "kernels/portable/isa": COMMON | {"kernels/portable"},
    "kernels/optimizer": COMMON,
    "kernels/gpu": {"common/base", "common/faults"},
    "kernels/cuda": {"common/base", "kernels/gpu", "kernels/portable", "kernels/portable/isa"},
    "kernels/sparse": {"common/base", "common/cluster", "common/job", "kernels/optimizer"},
    "kernels": COMMON | {"kernels/portable", "kernels/optimizer"},
    "graph/core": {"include/tanist", "common/base", "kernels/gpu"},
    "graph/ops": {"include/tanist", "common/base", "graph/core"},
    "graph/reference": {"include/tanist", "common/base", "graph/core", "graph/ops"},
    "graph/passes": {"include/tanist", "common/base", "graph/core", "graph/ops"},
    "graph/portable": {"include/tanist", "common/base", "kernels/portable", "kernels/optimizer",
                       "graph/core", "graph/ops", "graph/reference"},
    "graph/cuda": {"include/tanist", "common/base", "kernels/cuda", "kernels/portable", "graph/core", "graph/ops",
                   "graph/portable"},
    "graph/openblas": {"include/tanist", "common/base", "kernels", "graph/core", "graph/ops",
                       "graph/reference"},
    "graph": {"include/tanist", "common/base", "kernels/gpu", "graph/core", "graph/ops", "graph/reference",
              "graph/passes", "graph/openblas", "graph/portable", "graph/cuda"},
    "session": COMMON | {"include/tanist", "graph/core", "graph/ops", "graph/passes", "graph"},
    "model/onnx": {"include/tanist", "common/base", "common/cluster", "common/job"},
    "model/export": {"include/tanist", "common/base", "common/cluster", "common/job", "graph/core", "graph/ops", "graph"},
    "model/metrics": {"common/base"},
    "model": {"include/tanist", "common/base", "common/cluster", "common/job", "kernels/sparse", "graph", "graph/core", "graph/passes", "model/onnx"},
    "coordinator": COMMON,
    "ps/table": {"common/base", "common/cluster", "common/faults", "common/job", "kernels/optimizer", "kernels/sparse"},
    "ps/store": COMMON | {"ps/table"},
    "ps": COMMON | {"kernels", "kernels/cuda", "kernels/gpu", "kernels/optimizer", "kernels/sparse", "ps/store", "ps/table"},
    "data/source": {"common/base"},
    "data/image": {"common/base"},
    "data/formats": {"include/tanist", "common/base", "data/source", "data/image"},
    "data/columns": {"common/base", "data/source", "data/image"},
    "data": COMMON | {"kernels", "kernels/optimizer", "model", "model/metrics", "data/source", "data/formats", "data/columns"},
    "worker": COMMON | {"include/tanist", "graph", "kernels", "kernels/gpu", "kernels/optimizer", "kernels/sparse", "model", "model/metrics", "data"},
    "group": COMMON | {"include/tanist", "graph/core", "graph/ops", "graph/passes", "graph", "kernels", "model", "data", "worker"},
    "evaluator": COMMON | {"model", "kernels", "data", "worker"},
    "mirror": COMMON | {"include/tanist", "graph/core", "graph/ops", "graph/passes", "graph", "kernels", "kernels/optimizer", "model", "data",
               "ps/store", "ps", "worker", "group"},
    "local": COMMON | {"include/tanist", "kernels", "kernels/optimizer", "model", "ps/store", "ps/table", "data",
              "worker"},
    "checker": COMMON,
    "agent/ensemble": COMMON,
    "agent/observe": COMMON | {"agent/ensemble"},
    "agent": COMMON | {"agent/ensemble", "agent/observe"},
    "chaos/plan": COMMON,
    "chaos/history": COMMON | {"chaos/plan"},
    "chaos/shim": {"common/faults"},
    "chaos/cluster": COMMON | {"agent", "agent/ensemble", "agent/observe", "chaos/plan",
                               "chaos/history"},
    "chaos/inject": COMMON | {"chaos/plan", "chaos/history", "chaos/cluster"},
    "chaos/judge": COMMON | {"agent", "agent/observe", "checker", "chaos/plan", "chaos/history",
                             "chaos/cluster"},
    "chaos/report": COMMON | {"chaos/plan", "chaos/history"},
    "chaos": COMMON | {"agent/observe", "chaos/plan", "chaos/history", "chaos/cluster",
                       "chaos/inject", "chaos/judge", "chaos/report"},
    "cli": COMMON | {"agent", "agent/ensemble", "agent/observe"},
    "cli/model": COMMON | {"include/tanist", "session", "cli", "ps/store", "ps/table", "data", "data/source", "data/formats", "worker", "kernels",
                           "model", "model/export", "model/metrics", "local"},
    "cli/plan": COMMON | {"cli", "coordinator", "group", "ps", "ps/table", "data", "worker", "kernels", "kernels/cuda", "graph/openblas", "graph/portable",
                          "graph", "model"},
    "cli/node": COMMON | {"cli", "cli/model", "cli/plan", "coordinator", "evaluator", "group", "mirror", "ps", "ps/store", "data", "data/source", "worker",
                          "kernels", "kernels/cuda", "kernels/gpu", "model"},
    "cli/run": COMMON | {"session", "cli", "cli/model", "cli/node", "cli/plan", "agent", "agent/observe", "local", "ps/store", "ps/table", "data", "data/source",
                         "graph/core", "model"},
    "cli/inspect": COMMON | {"cli", "cli/model", "agent/ensemble", "agent/observe", "ps/store", "ps/table", "kernels/optimizer", "kernels/gpu"},
    "cli/curves": COMMON | {"cli", "cli/inspect", "agent/observe", "chaos/report", "data/image"},
    "cli/operate": COMMON | {"cli", "agent", "agent/ensemble", "agent/observe"},
    "cli/chaos": COMMON | {"cli", "chaos", "chaos/plan", "chaos/history", "chaos/inject",
                           "chaos/report"},
    "library": COMMON | {"include/tanist", "model", "cli"},
}
PRODUCT = tuple(dict.fromkeys(folder.split("/", 1)[0] for folder in ARROWS))

# All kernels for GPUs are one file to nvcc.
MODULE = "kernels/cuda/module.cu"

# A library is known by one adapter: (header, files that may include it, how many of them may).
PORTS = (
    (r"zookeeper/|zookeeper\.h", r"common/zk/zk(_acl\.c|_private\.h|\.c)", None),
    (r"nng/", r"common/net/transport\w*\.[ch]", None),
    (r"onnx\.pb-c\.h|protobuf-c/", r"model/(onnx|export)/\w+\.[ch]", None),
    (r"turbojpeg\.h", r"data/image/\w+\.c", 1),
    (r"png\.h", r"data/image/\w+\.c", 1),
    (r"lmdb\.h", r"ps/store/\w+\.c", 1),
    (r"cblas\.h|openblas|cublas|cuda|nccl", r"kernels/.*", None),
)

# Outside state, and the one file that may read it.
OUTSIDE = (
    (r"(?<![\w.>])(?:clock_gettime|gettimeofday|timespec_get|ftime|time|clock)\s*\(",
     r"common/base/clock\.c|chaos/shim/clock\.c",
     "reads a clock; take the time from the event, or from common/base/clock.h"),
    (r"(?<![\w.>])(?:rand|srand|random|srandom|drand48|getrandom|getentropy|arc4random)\s*\(",
     r"common/base/clock\.c", "draws random numbers; use common/base/random.h or clock_new_incarnation()"),
)
IN_UNIT_TESTS = (
    (r"(?<![\w.>])(?:sleep|usleep|nanosleep|clock_nanosleep)\s*\(", "sleeps"),
    (r"(?<![\w.>])(?:pthread_create|thrd_create|fork)\s*\(", "starts a thread or a process"),
    (r"(?<![\w.>])(?:socket|bind|listen)\s*\(", "opens a port"),
)

PURE = re.compile(r"__assert_fail|_?_?mem(cpy|move|set|cmp|chr)(_chk)?|__stack_chk_fail"
                  r"|_GLOBAL_OFFSET_TABLE_")


def check_lengths(args):
    for source in load(args.root):
        if len(source.lines) > FILE_LINES:
            yield source.path, len(source.lines), (
                f"{len(source.lines)} lines, the limit is {FILE_LINES}; split the module")
        for number, line in enumerate(source.lines, 1):
            if len(line) > COLUMNS:
                yield source.path, number, (
                    f"{len(line)} columns, the limit is {COLUMNS}; wrap the line")
        for first, length, name in source.functions():
            if length > FUNCTION_LINES:
                yield source.path, first, (
                    f"{name} has {length} lines, the limit is {FUNCTION_LINES}; "
                    "give its parts names of their own")


def check_includes(args):
    folders = list(ARROWS)
    for folder, named in ARROWS.items():
        if not named <= set(folders[:folders.index(folder)]):
            yield "tests/tidy/tidy.py", 1, f"ARROWS: {folder} names a folder below it; break the cycle"
    for source in load(args.root):
        if source.top in PRODUCT and source.folder not in ARROWS:
            yield source.path, 1, f"{source.folder}/ is not in ARROWS; add a row with what it may include"
        for number, name, is_local in source.includes():
            top, folder = name.split("/", 1)[0], name.rsplit("/", 1)[0]
            if is_local and "/" not in name and not (
                    Path(args.root) / Path(source.path).parent / name).exists():
                continue
            if is_local and "/" not in name and source.top in PRODUCT:
                yield source.path, number, (
                    f'"{name}" is not written from the root; '
                    f'write "{Path(source.path).parent}/{name}"')
            elif (is_local and source.top in PRODUCT and top in FOLDERS and top != "include"
                  and folder not in {source.folder} | ARROWS.get(source.folder, set())):
                yield source.path, number, (
                    f'{source.folder}/ must not include {folder}/; move what both need to common/')
            elif is_local and re.search(r"\.c$", name) and str(source.path) != MODULE:
                yield source.path, number, f'"{name}" is not a header; link it instead'


def check_ports(args):
    users = {port: [] for port in PORTS}
    for source in load(args.root):
        if source.top not in PRODUCT:
            continue
        for number, name, _ in source.includes():
            for port in PORTS:
                header, files, _ = port
                if not re.match(header, name):
                    continue
                users[port].append((source.path, number, name))
                if not re.fullmatch(files, source.path):
                    yield source.path, number, (
                        f"includes {name}, which only {files} may include; call that adapter")
    for (_, files, limit), found in users.items():
        paths = sorted({path for path, _, _ in found if re.fullmatch(files, path)})
        if limit is not None and len(paths) > limit:
            for path, number, name in found:
                yield path, number, f"{name} is included by {len(paths)} files; keep one adapter"


def check_calls(args):
    for source in load(args.root):
        rules = []
        if source.top in PRODUCT:
            rules = [(pattern, why) for pattern, owner, why in OUTSIDE
                     if not re.fullmatch(owner, source.path)]
        elif source.path.startswith("tests/unit/"):
            rules = [(pattern, why + " in a unit test; move it to tests/contract")
                     for pattern, why in IN_UNIT_TESTS]
        for number, line in enumerate(source.code, 1):
            for pattern, why in rules:
                if re.search(pattern, line):
                    yield source.path, number, why
        for number, line in enumerate(source.lines, 1):
            if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line):
                yield source.path, number, "unfinished; finish it or write an issue"
        if source.path.endswith(".h") and source.top in PRODUCT:
            yield from check_guard(source)


def check_guard(source):
    """A header's guard is its path, so that no two can be the same."""
    path = re.sub(r"^include/", "", source.path)
    guard = re.sub(r"[^A-Z0-9]", "_", path.upper())
    for number, line in enumerate(source.code, 1):
        if line.strip().startswith("#"):
            if line.split() != ["#ifndef", guard]:
                yield source.path, number, f"the header's guard must be {guard}"
            return
    yield source.path, 1, f"no header guard; add {guard}"


def symbols(objects, option):
    """(object, symbol) of the undefined or defined symbols of `objects`."""
    found = []
    for name in objects:
        output = subprocess.run(["nm", option, str(name)], check=True, capture_output=True, text=True)
        for line in output.stdout.splitlines():
            found.append((name, line.split()[-1]))
    return found


def check_purity(args):
    listed = (Path(args.root) / "tests/tidy/cores.txt").read_text().splitlines()
    objects = {}
    for path in (line.strip() for line in listed):
        if not path or path.startswith("#"):
            continue
        if not (Path(args.root) / path).exists():
            yield "tests/tidy/cores.txt", listed.index(path) + 1, f"{path} does not exist; fix the list"
            continue
        built = list(Path(args.build).glob(f"CMakeFiles/*.dir/{path}.o"))
        if not built:
            yield path, 1, f"no object file below {args.build}; build first"
        for name in built:
            objects[name] = path
    defined = {symbol for _, symbol in symbols(objects, "--defined-only")}
    for name, symbol in symbols(objects, "--undefined-only"):
        if not PURE.fullmatch(symbol) and symbol not in defined:
            path = objects[name]
            lines = (Path(args.root) / path).read_text().splitlines()
            number = next((n for n, line in enumerate(lines, 1)
                           if re.search(rf"\b{re.escape(symbol)}\b", line)), 1)
            yield path, number, (f"a pure core calls {symbol}(); make it an action that the driver "
                                 "carries out, or an event that brings the answer")


def built_with_failpoints(build):
    cache = Path(build) / "CMakeCache.txt"
    return cache.exists() and re.search(r"^TANIST_FAILPOINTS:BOOL=(ON|1|TRUE)$", cache.read_text(),
                                        re.MULTILINE | re.IGNORECASE) is not None


def check_failpoints(args):
    """Each name of the list is in the code, with the kind that the list gives, and in the documents;
    and in no object of a build without failpoints."""
    root, header = Path(args.root), "common/faults/failpoint.h"
    rows = {}
    for number, line in enumerate((root / header).read_text().splitlines(), 1):
        match = re.match(r'\s*(?:#define FAILPOINT_LIST\(X\)\s*)?X\("([^"]+)", "\w+", ([01]),', line)
        if match:
            rows[match.group(1)] = (number, match.group(2) == "1")
    document = root / "docs/chaos.md"
    documented = document.read_text() if document.exists() else ""
    cores = (root / "tests/tidy/cores.txt").read_text().splitlines()
    used = set()
    for source in load(args.root):
        if source.top not in PRODUCT or source.path == header:
            continue
        compiled_again = source.path.endswith(".c") and f'#include "{header}"' in source.lines  # cmake/Failpoints.cmake
        for number, line in enumerate(source.lines, 1):
            for kind, name in re.findall(r'\bFAILPOINT(_STATUS)?\("([^"]*)"', line):
                used.add(name)
                if not compiled_again:
                    yield source.path, number, f"{name} has no effect in the program with failpoints, for which only .c files " \
                                               f"that include {header} are compiled again; put it into such a file"
                if name not in rows:
                    yield source.path, number, f"{name} is not in FAILPOINT_LIST; add it"
                elif rows[name][1] != bool(kind):
                    yield source.path, number, f"FAILPOINT{kind}({name}) is of the other kind in {header}"
                if source.path in cores:
                    yield source.path, number, "a failpoint in a pure core; put it into its driver"
        built = [] if built_with_failpoints(args.build) or source.path.startswith("common/faults/failpoint") \
            or source.top in ("chaos", "cli") else \
            Path(args.build).glob(f"CMakeFiles/*.dir/{source.path}.o")
        for data in (path.read_bytes() for path in built if "tanist_failpoints.dir" not in path.parts):
            for name in rows:
                if name.encode() + b"\0" in data:
                    yield source.path, 1, f"{name} is in the object file of a build without failpoints"
    for name, (number, _) in rows.items():
        if name not in used:
            yield header, number, f"no code passes {name}; add it to the code, or remove it from the list"
        if f"`{name}`" not in documented:
            yield header, number, f"{name} is not in docs/chaos.md; explain it there"


def tool(name):
    path = shutil.which(name)
    if path is None:
        print(f"{name} is not installed; scripts/install-dependencies.sh lint")
        sys.exit(SKIPPED)
    return path


def check_format(args):
    files = [source.path for source in load(args.root)]
    if not files:
        return
    output = subprocess.run([tool("clang-format-16"), "--dry-run", *files], cwd=args.root,
                            capture_output=True, text=True, check=False)
    for line in output.stderr.splitlines():
        match = re.match(r"([^:]+):(\d+):\d+: (?:warning|error): ", line)
        if match:
            yield match.group(1), int(match.group(2)), f"not formatted; clang-format-16 -i {match.group(1)}"


def check_lint(args):
    yield from lint.check(args, tool("clang-tidy"), PRODUCT)


def check_commits(args):
    reason = commits.reason_to_skip(args.root, args.base or commits.BASE)
    if reason is not None:
        print(f"tidy commits: skipped: {reason}")
        sys.exit(SKIPPED)
    yield from commits.check(args)


check_dialect = dialect.check
check_english = english.check
check_layout = layout.check
COUNTS = {"dialect": dialect.count, "english": english.count}

CHECKS = {name[6:]: function for name, function in list(globals().items())
          if name.startswith("check_") and name != "check_guard"}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=sorted(CHECKS))
    parser.add_argument("--root", default=Path(__file__).resolve().parents[2])
    parser.add_argument("--build", default="build")
    parser.add_argument("--base", help="commits: the last commit that is not checked")
    parser.add_argument("--count", action="store_true", help="dialect, english: print how many, and where")
    args = parser.parse_args()
    if args.count:
        if args.check not in COUNTS:
            parser.error(f"--count works with {' and '.join(sorted(COUNTS))}")
        print(f"{COUNTS[args.check](args):6} findings")
        return 0
    count = 0
    for path, number, what in CHECKS[args.check](args):
        print(f"{path}:{number}: {what}")
        count += 1
    print(f"tidy {args.check}: {count} findings" if count else f"tidy {args.check}: clean")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
