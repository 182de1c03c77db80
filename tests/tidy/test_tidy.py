#!/usr/bin/env python3
"""The checks are checked: each rule is broken once in a small tree, and must be found there.

  tests/tidy/test_tidy.py          exit status 0 when every planted fault is found, and only those
"""

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
    ("includes", {"cli/a.c": '#include "cli/b.c"\n'}, "is no header"),
    ("ports", {"common/zk/zk.c": "#include <zookeeper/zookeeper.h>\n"}, None),
    ("ports", {"ps/a.c": "#include <zookeeper/zookeeper.h>\n"}, "go through that adapter"),
    ("ports", {"common/zk/zk.c": "#include <zookeeper.h>\n", "common/zk/zk_b.c": "#include <zookeeper.h>\n"},
     "keep one adapter"),
    ("ports", {"ps/a.c": "#include <nng/nng.h>\n"}, "go through that adapter"),
    ("ports", {"worker/a.c": "#include <cblas.h>\n"}, "go through that adapter"),
    ("ports", {"ps/store/a.c": "#include <lmdb.h>\n", "ps/store/b.c": "#include <lmdb.h>\n"}, "keep one adapter"),
    ("words", {"ps/a.c": "x = clock_gettime(0, &t);\n"}, "ps/a.c:1: reads a clock"),
    ("words", {"ps/a.c": 'x = time(NULL); /* a */\n'}, "reads a clock"),
    ("words", {"ps/a.c": '/* time(NULL) */ f("time(NULL)", a.time(1), strftime(b));\n'}, None),
    ("words", {"common/base/clock.c": "x = clock_gettime(0, &t);\n"}, None),
    ("words", {"tests/unit/a.c": "sleep(1);\n"}, "sleeps in a unit test"),
    ("words", {"ps/a.c": "/* TO" "DO: more */\n"}, "ps/a.c:1: unfinished"),
    ("words", {"ps/a.h": "#ifndef A_H\n#define A_H\n#endif\n"}, "must be PS_A_H"),
    ("words", {"include/tanist/a.h": "/* a */\n#ifndef TANIST_A_H\n#define TANIST_A_H\n#endif\n"}, None),
    ("purity", {"tests/tidy/cores.txt": "ps/a.c\nps/b.c\n",
                "ps/a.c": "int b(void); int a(void) { return b(); }\n",
                "ps/b.c": "int b(void) { return 1; }\n"}, None),
    ("purity", {"tests/tidy/cores.txt": "ps/a.c\n",
                "ps/a.c": "\nint puts(const char *); int a(void) { return puts(\"\"); }\n"},
     "ps/a.c:2: a pure core calls puts()"),
    ("purity", {"tests/tidy/cores.txt": "# none\nps/gone.c\n"}, "cores.txt:2: ps/gone.c is not there"),
    ("failpoints", {**POINTS, "ps/a.c": 'FAILPOINT("a.one"); x = FAILPOINT_STATUS("a.two", e);\n'}, None),
    ("failpoints", {**POINTS, "ps/a.c": 'FAILPOINT("a.one");\n'}, "failpoint.h:2: nobody passes a.two"),
    ("failpoints", {**POINTS, "docs/chaos.md": "`a.one`\n"}, "failpoint.h:2: a.two is not in docs/chaos.md"),
    ("failpoints", {**POINTS, "ps/a.c": 'FAILPOINT("a.three");\n'}, "ps/a.c:1: a.three is not in"),
    ("failpoints", {**POINTS, "ps/a.c": 'FAILPOINT("a.two");\n'}, "ps/a.c:1: whether a.two can fail"),
    ("failpoints", {**POINTS, "ps/core.c": 'FAILPOINT("a.one");\n'}, "ps/core.c:1: a failpoint in a pure"),
    ("failpoints", {**POINTS, "ps/a.c": 'const char *FAILPOINT = "a.one";\n',
                    "build/CMakeFiles/room.dir/ps/a.c.o": "a.one\0"}, "ps/a.c:1: a.one is in its object"),
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
                target = root / f"build/CMakeFiles/room.dir/{name}.o"
                target.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(["gcc", "-c", str(path), "-o", str(target)], check=True)
        return subprocess.run([sys.executable, str(TIDY), check, "--root", folder,
                               "--build", str(root / "build")],
                              capture_output=True, text=True, check=False)


def main():
    failures = 0
    for check, files, expected in CASES:
        if check == "format" and shutil.which("clang-format") is None:
            continue
        output = run(check, files)
        found = output.returncode == 1 and expected is not None and expected in output.stdout
        clean = output.returncode == 0 and expected is None
        if not found and not clean:
            failures += 1
            print(f"{check} {list(files)}: expected {expected!r}, got {output.returncode}:\n"
                  f"{output.stdout}{output.stderr}")
    print(f"{len(CASES)} planted faults, {failures} missed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
