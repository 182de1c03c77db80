"""The options of bench/run, its table and its file."""

import argparse
import json
import shutil
import signal
import sys
import time
from pathlib import Path

from figures.catalogue import FIGURES
from figures.processes import Workspace, print_progress, processors_used
from figures.ratios import Missing
from figures.turns import Context

ROOT = Path(__file__).resolve().parent.parent.parent
USAGE = """Measures Tanist on this machine beside the limits of the machine, prints a table, and writes a list of objects
name, unit, value, limit, ratio, ratio_q1, ratio_q3, rounds (and more: see bench/README.md).

  bench/run -o FILE.json                        all figures, about an hour on a quiet machine
  bench/run --quick -o FILE.json                smaller sizes and fewer rounds, less than ten minutes
  bench/run --only exchange_4KiB,failover_ms -o FILE.json

In each round everything is measured once, in turns, so that other load slows all of it. `ratio` is the median over
rounds of value / limit, `ratio_q1` and `ratio_q3` are its quartiles. Progress goes to stderr. Build the programs first:
cmake --build build --target tanist bench

Exit status: 0; 1 a figure could not be measured, for the reason that stderr names; 2 wrong usage; 130 interrupted, with the
figures measured before in the file.
"""


def parse():
    parser = argparse.ArgumentParser(prog="bench/run", description=USAGE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="names:\n  " + "\n  ".join(FIGURES))
    parser.add_argument("-o", "--output", metavar="FILE.json", type=Path, required=True, help="the list, as JSON")
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer rounds; see `size` and `rounds`")
    parser.add_argument("--only", metavar="NAMES", help="these figures alone, separated by commas")
    parser.add_argument("--peers", action="store_true", help="also measure TensorFlow and PyTorch (bench/peers)")
    parser.add_argument("--peers-python", metavar="PYTHON", action="append",
                        help="an interpreter that has them; default: python3; may be given again for another one")
    parser.add_argument("--build", metavar="FOLDER", type=Path, default=ROOT / "build", help="default: build")
    parser.add_argument("--folder", metavar="FOLDER", type=Path, help="for temporary files; default: $TMPDIR or /tmp")
    options = parser.parse_args()
    options.names = list(FIGURES) if options.only is None else options.only.split(",")
    for name in options.names:
        if name not in FIGURES:
            parser.error(f"no figure is called '{name}': give some of {', '.join(FIGURES)}")
    if not options.output.absolute().parent.is_dir():
        parser.error(f"--output {options.output}: its folder does not exist")
    options.peers_python = options.peers_python or ["python3"]
    for python in options.peers_python:
        if shutil.which(python) is None:
            parser.error(f"--peers-python {python} does not exist")
    options.build = options.build.absolute()
    return options


def measure(name, options):
    """The object of a figure; None: it could not be measured."""
    others_used = processors_used(1.0)
    workspace = Workspace(options.build, options.folder)
    start = time.monotonic()
    print_progress(f"{name} ...")
    try:
        found = {"name": name, **FIGURES[name](Context(workspace, options)), "others_used": others_used, "quick": options.quick}
        print_progress(f"{name}: {time.monotonic() - start:.0f} s")
        return found
    except Missing as missing:
        print_progress(f"{name} could not be measured: {missing}")
        return None
    finally:
        workspace.close()


def print_table(found):
    print(f"{'FIGURE':26} {'VALUE':>11} {'LIMIT':>11} {'RATIO':>6}  {'QUARTILES':14} {'ROUNDS':>6}  UNIT")
    for row in found:
        if row["ratio"] is None:
            print(f"{row['name']:26} {row['value']:11.4g} {'-':>11} {'-':>6}  {'':14} {row['rounds']:6}  {row['unit']}")
            continue
        quartiles = f"[{row['ratio_q1']:.2f}, {row['ratio_q3']:.2f}]"
        print(f"{row['name']:26} {row['value']:11.4g} {row['limit']:11.4g} {row['ratio']:6.2f}  {quartiles:14} "
              f"{row['rounds']:6}  {row['unit']}")
        for other in row["beside"]:
            print(f"  {'beside ' + other['name']:36} {other['limit']:11.4g} {other['ratio']:6.2f}  "
                  f"[{other['ratio_q1']:.2f}, {other['ratio_q3']:.2f}]")


def write(found, path):
    """Replace the file as a whole, so that a reader never sees half of it."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def main():
    options = parse()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    found = []
    try:
        for name in options.names:
            row = measure(name, options)
            if row is not None:
                found.append(row)
            write(found, options.output)
    except KeyboardInterrupt:
        print_progress(f"interrupted: {options.output} has the figures measured so far ({len(found)})" if found else
                       "interrupted: nothing is written")
        return 130
    print_table(found)
    return 0 if len(found) == len(options.names) else 1
