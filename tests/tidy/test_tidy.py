#!/usr/bin/env python3
"""Tests the checks: each rule is broken once in a small tree, and the check must find it.

  tests/tidy/test_tidy.py          exit status 0 when every planted fault is found, and nothing else
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TIDY = Path(__file__).with_name("tidy.py")

POINTS = {"common/faults/failpoint.h": '#define FAILPOINT_LIST(X) X("a.one", "ps", 0, "once") \\\n'
                                '    X("a.two", "ps", 1, "twice")\n',
          "docs/chaos.md": "`a.one`, `a.two`\n", "tests/tidy/cores.txt": "ps/core.c\n"}

# (check, {file: contents}, what must be printed; None: the tree is clean)
CASES = (
    ("lengths", {"ps/a.c": "int a;\n"}, None),
    ("lengths", {"ps/a.c": "int a;\n" * 501}, "ps/a.c:501: 501 lines"),
    ("lengths", {"ps/a.c": "/* " + "x" * 98 + " */\n"}, "ps/a.c:1: 104 columns"),
    ("lengths", {"ps/a.c": "int x;\n\nint f(void)\n{\n" + "    g();\n" * 68 + "}\n"}, "ps/a.c:3: f has 71"),
    ("lengths", {"ps/a.c": "int f(void)\n{\n" + "    g();\n" * 67 + "}\n"}, None),
    ("includes", {"ps/a.c": '#include "common/base/a.h"\n#include "kernels/k.h"\n'}, None),
    ("includes", {"ps/a.c": '#include "worker/a.h"\n'}, "ps/a.c:1: ps/ must not include worker/"),
    ("includes", {"common/zk/a.c": '#include "ps/a.h"\n'}, "common/zk/ must not include ps/"),
    ("includes", {"kernels/a.h": '#include "cli/a.h"\n'}, "kernels/ must not include cli/"),
    ("includes", {"common/base/a.h": '#include "common/zk/a.h"\n'}, "common/base/ must not include"),
    ("includes", {"ps/new/a.h": ""}, "ps/new/ is not in ARROWS"),
    ("includes", {"agent/a.c": '#include "a.h"\n', "agent/a.h": ""}, "is not written from the root"),
    ("includes", {"cli/a.c": '#include "cli/b.c"\n'}, "is not a header"),
    ("ports", {"common/zk/zk.c": "#include <zookeeper/zookeeper.h>\n"}, None),
    ("ports", {"ps/a.c": "#include <zookeeper/zookeeper.h>\n"}, "call that adapter"),
    ("ports", {"common/zk/zk.c": "#include <zookeeper.h>\n", "common/zk/zk_b.c": "#include <zookeeper.h>\n"},
     "call that adapter"),
    ("ports", {"ps/a.c": "#include <nng/nng.h>\n"}, "call that adapter"),
    ("ports", {"worker/a.c": "#include <cblas.h>\n"}, "call that adapter"),
    ("ports", {"ps/store/a.c": "#include <lmdb.h>\n", "ps/store/b.c": "#include <lmdb.h>\n"}, "keep one adapter"),
    ("calls", {"ps/a.c": "x = clock_gettime(0, &t);\n"}, "ps/a.c:1: reads a clock"),
    ("calls", {"ps/a.c": 'x = time(NULL); /* a */\n'}, "reads a clock"),
    ("calls", {"ps/a.c": '/* time(NULL) */ f("time(NULL)", a.time(1), strftime(b));\n'}, None),
    ("calls", {"common/base/clock.c": "x = clock_gettime(0, &t);\n"}, None),
    ("calls", {"tests/unit/a.c": "sleep(1);\n"}, "sleeps in a unit test"),
    ("calls", {"ps/a.c": "/* TO" "DO: more */\n"}, "ps/a.c:1: unfinished"),
    ("calls", {"ps/a.h": "#ifndef A_H\n#define A_H\n#endif\n"}, "must be PS_A_H"),
    ("calls", {"include/tanist/a.h": "/* a */\n#ifndef TANIST_A_H\n#define TANIST_A_H\n#endif\n"}, None),
    ("purity", {"tests/tidy/cores.txt": "ps/a.c\nps/b.c\n",
                "ps/a.c": "int b(void); int a(void) { return b(); }\n",
                "ps/b.c": "int b(void) { return 1; }\n"}, None),
    ("purity", {"tests/tidy/cores.txt": "ps/a.c\n",
                "ps/a.c": "\nint puts(const char *); int a(void) { return puts(\"\"); }\n"},
     "ps/a.c:2: a pure core calls puts()"),
    ("purity", {"tests/tidy/cores.txt": "# none\nps/gone.c\n"}, "cores.txt:2: ps/gone.c does not exist"),
    ("failpoints", {**POINTS, "ps/a.c": '#include "common/faults/failpoint.h"\nFAILPOINT("a.one"); x = FAILPOINT_STATUS("a.two", e);\n'}, None),
    ("failpoints", {**POINTS, "ps/a.c": 'FAILPOINT("a.one"); x = FAILPOINT_STATUS("a.two", e);\n'},
     "ps/a.c:1: a.two has no effect in the program with failpoints"),
    ("failpoints", {**POINTS, "ps/a.h": '#include "common/faults/failpoint.h"\nFAILPOINT("a.one");\n'}, "ps/a.h:2: a.one has no effect in the program"),
    ("failpoints", {**POINTS, "ps/a.c": 'FAILPOINT("a.one");\n'}, "failpoint.h:2: no code passes a.two"),
    ("failpoints", {**POINTS, "docs/chaos.md": "`a.one`\n"}, "failpoint.h:2: a.two is not in docs/chaos.md"),
    ("failpoints", {**POINTS, "ps/a.c": 'FAILPOINT("a.three");\n'}, "ps/a.c:1: a.three is not in"),
    ("failpoints", {**POINTS, "ps/a.c": 'FAILPOINT("a.two");\n'}, "ps/a.c:1: FAILPOINT(a.two) is of the other kind"),
    ("failpoints", {**POINTS, "ps/core.c": 'FAILPOINT("a.one");\n'}, "ps/core.c:1: a failpoint in a pure"),
    ("failpoints", {**POINTS, "ps/a.c": 'const char *FAILPOINT = "a.one";\n',
                    "build/CMakeFiles/tanist.dir/ps/a.c.o": "a.one\0"}, "ps/a.c:1: a.one is in the object file"),
    ("layout", {"ps/step.c": "", "tests/unit/ps/test_step.c": "/* ps/stop.h: all of it. */\n"},
     "test_step.c:1: its first line names ps/stop.h, which does not exist"),
    ("layout", {"ps/step.c": "", "tests/unit/ps/test_step.c": "/* ps/step.c: all of it. */\n"}, None),
    ("layout", {"ps/step.c": "", "tests/unit/ps/test_step.c": "/* A step. */\n"}, None),
    ("layout", {"tests/sim/net.c": "", "tests/unit/sim/test_net.c": ""}, None),
    ("layout", {"kernels/stream.inc": "", "tests/unit/kernels/test_stream.c": ""}, None),
    ("layout", {"ps/step.c": "", "tests/unit/ps/test_stop.c": ""}, "there is no module ps/stop.c"),
    ("layout", {"ps/a.h": "/* worker/a.h: moved. */\n"}, "its first line names worker/a.h; write ps/a.h"),
    ("layout", {"ps/a.h": "/* A header. */\n"}, "begin with /* ps/a.h: ..."),
    ("layout", {"include/tanist/a.h": "/*\n * tanist/a.h: public.\n */\n"}, None),
    ("dialect", {"ps/a.c": 'int x = u32_min(a, b); f("%" PRIu64, b < c ? a : b);\n'}, None),
    ("dialect", {"ps/a.c": 'printf("x", (unsigned long long)a);\n'}, "ps/a.c:1: a cast to long long"),
    ("dialect", {"ps/a.c": '\nprintf("%5llu", a);\n'}, "ps/a.c:2: a format for long long"),
    ("dialect", {"ps/a.c": "x = a->b < c[1].d ? a->b : c[1].d;\n"}, "ps/a.c:1: a minimum or maximum"),
    ("dialect", {"ps/a.c": "x = f(a) >= LIMIT\n ? LIMIT : f(a);\n"}, "ps/a.c:1: a minimum or maximum"),
    ("dialect", {"ps/a.c": "#define MAX(a, b) 1\n"}, "ps/a.c:1: a macro for it"),
    ("dialect", {"ps/a.c": "static int smaller(int a, int b)\n"}, "ps/a.c:1: another function for it"),
    ("dialect", {"ps/a.c": "struct a {\n    uint64_t\n        b; /* c */\n};\n"}, "ps/a.c:2: a field is broken in two"),
    ("dialect", {"ps/a.c": "/* a\n */\n"}, "ps/a.c:1: a comment ends on a line of its own"),
    ("dialect", {"ps/a.c": "/*\n * a\n */\nstruct a\n    b; /* a\n        * b */\n"}, None),
    ("dialect", {"ps/a.c": "/* clang-format " "off */\n"}, "ps/a.c:1: clang-format is switched off"),
    ("english", {"ps/a.c": '/* The ps of the term. */ f("whom"); g("{\\"whom\\": 1}"); /* `whom` */\n'}, None),
    ("english", {"ps/a.c": "/* The node is\n * gone. */\n"}, 'ps/a.c:1: "is gone"'),
    ("english", {"ps/a.c": 'f("%s is no "\n  "list");\n'}, 'ps/a.c:1: "is no l"'),
    ("english", {"ps/a.c": "/* There is no list; it is no longer read. */\n"}, None),
    ("english", {"ps/a.c": "/* What the node needs. */\n"}, 'ps/a.c:1: "What"'),
    ("english", {"ps/a.c": "int undertaker_start(void);\n"}, "undertaker in a name"),
    ("english", {"ps/undertaker.c": ""}, "ps/undertaker.c:1"),
    ("english", {"ps/a.py": 'x = f("nobody runs")\n'}, 'ps/a.py:1: "nobody"'),
    ("english", {"ps/a.py": '"""What runs."""\n'}, 'ps/a.py:1: "What"'),
    ("english", {"ps/a.sh": "echo ready\n# Runs for\n# ever.\n"}, 'ps/a.sh:2: "for ever"'),
    ("english", {"CMakeLists.txt": "# Told by CMake.\n"}, 'CMakeLists.txt:1: "Told"'),
    ("english", {"docs/a.md": "readers who know; one who\n```json\nwhom\n```\n"}, 'docs/a.md:1: "who"'),
    ("english", {"docs/a.md": "| `whom` | a target |\n```json\nwhom\n```\n"}, None),
    ("english", {"plan.json": '{"about": "nobody", "note": "it strikes once"}\n'}, 'plan.json:1: "strikes"'),
    ("english", {"build/a.c": "/* nobody */\n"}, None),
    ("english", {"ps/a.c": "/* nobody */\n",
                 "tests/tidy/english_exceptions.txt": "ps/a.c | nobody | a name\n"}, None),
    ("english", {"tests/tidy/english_exceptions.txt": "ps/a.c | nobody | a name\n"},
     "english_exceptions.txt:1: "),
    ("format", {".clang-format": "BasedOnStyle: LLVM\n", "ps/a.c": "int a;\n"}, None),
    ("format", {".clang-format": "BasedOnStyle: LLVM\n", "ps/a.c": "int   a ;\n"}, "not formatted"),
)


def run(check, files):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, contents in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(contents)
            if check == "purity" and name.endswith(".c"):
                target = root / f"build/CMakeFiles/tanist.dir/{name}.o"
                target.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(["gcc", "-c", str(path), "-o", str(target)], check=True)
        return tidy(root, check)


def tidy(root, check, *options, environment=None):
    return subprocess.run([sys.executable, "-B", str(TIDY), check, "--root", str(root),
                           "--build", str(root / "build"), *options],
                          env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=False)


def as_expected(output, expected):
    if expected is None:
        return output.returncode == 0
    return output.returncode == 1 and expected in output.stdout


PROTOCOL = "- **P1** Rule.\n- **P2** Rule.\n\n## Times\n\n| what | how long |\n|---|---|\n| a (`WAIT_MS`) | 2 s |\n"
RULES = {"docs/protocol.md": PROTOCOL, "docs/fault-tolerance.md": "| I1 | guarantee |\n",
         "ps/a.c": "enum { WAIT_MS = 2000 }; /* P1 to P2,\n * I1. */\n"}

# ({file: contents} beside or in place of RULES, what tests/tidy/documents.py must print; None: it is clean)
DOCUMENTS = (
    ({}, None),
    ({"ps/b.c": "/* By\n * rule P3. */\n"}, "ps/b.c:2: rule P3 is not in"),
    ({"ps/b.c": "int P3; /* F16, P100, 0.P4 */\n"}, None),
    ({"docs/protocol.md": PROTOCOL + "- **P3** Rule.\n"}, "docs/protocol.md:9: no comment cites rule P3"),
    ({"docs/protocol.md": PROTOCOL + "- **P1** Rule.\n"}, "docs/protocol.md:9: rule P1 is defined twice"),
    ({"ps/a.c": "enum { WAIT_MS = 200 }; /* P1, P2, I1 */\n"}, "docs/protocol.md:8: WAIT_MS is [200.0] ms"),
    ({"docs/a.md": "# B c\n[d](#b-c) [e](protocol.md#times)\n"}, None),
    ({"docs/a.md": "[d](protocol.md#b)\n"}, "docs/a.md:1: protocol.md has no heading #b"),
    ({"docs/a.md": "[d](b.md)\n"}, "docs/a.md:1: the link to b.md leads nowhere"),
    ({"docs/a.md": "| a | b |\n|---|---|\n| c | d | e |\n"}, "docs/a.md:3: the row has 3 cells"),
    ({"docs/a.md": "| a | b |\n|---|---|\n| `c \\| d` | e |\n"}, None),
    ({"docs/a.md": "\n" + "a " * 81 + "\n"}, "docs/a.md:2: 162 columns"),
    ({"docs/a.md": "| " + "a " * 81 + "|\n```\n" + "a " * 81 + "\n```\n"}, None),
    ({"docs/a.md": "\n- " + "\n".join(["a " * 20] * 4) + ".\n"}, "docs/a.md:2: a sentence has 8"),
    ({"docs/a.md": "- " + "\n".join(["[a b](a.md) `a b` a. "] * 50) + "\n\n" + "a\n" * 50}, None),
    ({"docs/a.md": "| a | " + "a " * 200 + "|\n"}, "docs/a.md:1: a cell has 40"),
    ({"docs/a.md": "| a | " + "[b](c.md) " * 80 + "|\n", "docs/c.md": ""}, None),
    ({"docs/architecture.md": "| to | open |\n|---|---|\n| a | b; c: d |\n"}, "docs/architecture.md:3: the row answers two"),
)

COMMITS = (
    # (subject, body, lines, what must be printed; None: the message is right)
    ("ps: keep two steps", "The second is read while the first is written.", 30, None),
    ("ps, README: keep two steps", "", 3, None),
    ("ps: keep two steps", "", 30, "30 lines changed without a body"),
    ("ps: keep two steps.", "", 1, "ends with a period"),
    ("ps: wip", "", 1, "marks unfinished work"),
    ("keep two steps", "", 1, 'is not "folder: change"'),
    ("moon: keep two steps", "", 1, 'begins with "moon"'),
    ("ps: " + "x" * 69, "", 1, "the subject has 73 columns"),
)


def write(root, files):
    for name, contents in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(contents)


def documents_missed():
    """The number of trees of DOCUMENTS that the check judges wrongly."""
    missed = 0
    for files, expected in DOCUMENTS:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), {**RULES, **files})
            output = subprocess.run([sys.executable, "-B", str(TIDY.with_name("documents.py")), folder],
                                    capture_output=True, text=True, check=False)
            if not as_expected(output, expected):
                missed += 1
                print(f"documents {files}: expected {expected!r}, got:\n{output.stdout}{output.stderr}")
    return missed


def git(root, *arguments):
    subprocess.run(["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
                   check=True, capture_output=True)


def commits_missed():
    """The number of messages of COMMITS that the check judges wrongly."""
    if shutil.which("git") is None:
        return 0
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "ps").mkdir()
        (root / "README.md").write_text("")
        git(root, "init", "-q")
        for subject, body, lines, expected in (("base", "", 1, None), *COMMITS):
            with open(root / "ps/a.c", "a", encoding="utf-8") as file:
                file.write(f"{subject}\n" * lines)
            git(root, "add", ".")
            git(root, "commit", "-q", "--allow-empty", "-m", f"{subject}\n\n{body}")
            if subject == "base":
                continue
            output = tidy(root, "commits", "--base", "HEAD~1")
            if not as_expected(output, expected):
                missed += 1
                print(f"commits {subject!r}: expected {expected!r}, got:\n{output.stdout}{output.stderr}")
        if tidy(root, "commits", "--base", "0" * 40).returncode != 77:
            missed += 1
            print("commits: a history without the base is not skipped")
    return missed


def lint_missed():
    """A clean file is checked once for all checkouts; a file with a finding is checked each time."""
    if shutil.which("clang-tidy") is None:
        return 0
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        for number, (header, marks, status) in enumerate((("1", 1, 0), ("1", 1, 0), ("2", 2, 0), ("x", 2, 1))):
            root = Path(folder) / str(number)
            (root / "build").mkdir(parents=True)
            (root / "ps").mkdir()
            (root / ".clang-tidy").write_text("Checks: 'misc-redundant-expression'\n")
            (root / "ps/a.h").write_text(f"enum {{ A = {header} }};\n")
            (root / "ps/a.c").write_text('#include "ps/a.h"\nint a(void);\nint a(void) { return A; }\n')
            entry = {"directory": str(root / "build"), "file": str(root / "ps/a.c"),
                     "command": f"cc -I{root} -c {root}/ps/a.c"}
            (root / "build/compile_commands.json").write_text(json.dumps([entry]))
            output = tidy(root, "lint", environment={"XDG_CACHE_HOME": str(cache)})
            found = len(list((cache / "tanist/lint").iterdir()))
            if output.returncode != status or found != marks:
                missed += 1
                print(f"lint, header {header}: exit {output.returncode}, {found} entries in the cache, expected "
                      f"{status} and {marks}:\n{output.stdout}{output.stderr}")
    return missed


def main():
    missed = 0
    for check, files, expected in CASES:
        if check == "format" and shutil.which("clang-format") is None:
            continue
        output = run(check, files)
        if not as_expected(output, expected):
            missed += 1
            print(f"{check} {list(files)}: expected {expected!r}, got {output.returncode}:\n"
                  f"{output.stdout}{output.stderr}")
    missed += documents_missed() + commits_missed() + lint_missed()
    print(f"{len(CASES) + len(DOCUMENTS) + len(COMMITS) + 5} planted faults, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
