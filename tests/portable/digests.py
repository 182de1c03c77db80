#!/usr/bin/env python3
"""Each example has one digest, however it is computed: in one process; with the kernels of every class of processors; by
1, 2 and 5 workers; with 1, 2 and 3 ps; in two parts; and, for models in C, with libraries by gcc and by clang in one
cluster. Jobs in async mode promise no digest and are left out, and so is what this machine lacks. compare.py does the
same for the kernels alone, on other processors as well.

  tests/portable/digests.py                       6 small steps of each example, with few images: minutes
  tests/portable/digests.py --steps 20 cnn bell.c these examples
  tests/portable/digests.py --full quick          the job as it is
  tests/portable/digests.py -o json               for programs

TANIST_PROGRAM: the program in the folder of its build. Exit status: 0 the digests of each example are equal; 1 not.
"""

import argparse
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("TANIST_PROGRAM", str(ROOT / "build/tanist"))
JOBS = sorted(path.stem for path in (ROOT / "examples").glob("*.json"))
# hooks.c ends its run itself, on a cluster at a step that the chief chooses; records.c has a source of data and no model.
PROGRAMS = sorted({str(path.relative_to(ROOT / "examples/c")) for path in (ROOT / "examples/c").rglob("*.c")} -
                  {"hooks.c", "records.c"})
CLASSES = ("scalar", "avx2", "avx512")
CLUSTERS = {f"workers={workers} ps={ps}": [f"cluster.workers={workers}", f"cluster.ps={ps}", "cluster.min_workers=1",
                                            "cluster.coordinators=1", "zookeeper.servers=1"]
            for workers, ps in ((1, 1), (2, 1), (2, 2), (2, 3), (5, 1), (5, 3))}
SMALL = ["evaluate.every_steps=0", "checkpoint.every_steps=0", "train.batch=16"]
FEW_IMAGES = ["data.type=synthetic", "data.examples=256", "data.test_examples=64"]  # In plain C, 10,000 take minutes.
# A way that the machine or the size of the model does not allow.
IMPOSSIBLE = re.compile("this processor lacks|ps in blocks of")


def call(command, **environment):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    return done.stdout


class Example:
    """A job file, or a program of examples/c, and the settings of all its runs."""

    def __init__(self, name, options, folder):
        self.name, self.folder = name, folder / name
        self.folder.mkdir(parents=True)
        self.program = folder / "programs" / Path(name).stem if name in PROGRAMS else None
        text = (ROOT / f"examples/c/{name}" if self.program else self.job()).read_text().replace("\\", "")
        few = '"idx"' in text and '"targets": "inputs"' not in text  # These inputs must be from 0 to 1.
        self.settings = [] if options.full else SMALL + (FEW_IMAGES if few else [])
        self.settings += options.set
        self.steps = int(re.search(r'"steps": (\d+)', text)[1]) if options.full else options.steps

    def job(self):
        return ROOT / f"examples/{self.name}.json"

    def train(self, way, *words, settings=(), steps=None, command=None, **environment):
        """The digest of a run in the folder `way`."""
        command = command or ([self.program, *words] if self.program else [PROGRAM, *words, self.job()])
        for setting in (*self.settings, *settings, f"train.steps={steps or self.steps}"):
            command += ["--set", setting]
        return json.loads(call([*command, "--dir", self.folder / way, "--quiet", "-o", "json"], **environment))[
            "parameters_digest"]

    def ways(self):
        """Name and function of each way to the digest."""
        yield "local", lambda: self.train("local", "run", "--local")
        for isa in CLASSES:
            yield isa, lambda isa=isa: self.train(isa, "run", "--local", TANIST_ISA=isa)
        yield "resumed", self.in_two_parts
        for name, settings in CLUSTERS.items():
            yield name, lambda name=name, settings=settings: self.train(name, "run", settings=settings)
        if self.program:
            yield "gcc and clang", self.by_two_compilers

    def in_two_parts(self):
        self.train("resumed", "run", "--local", steps=self.steps // 2)
        return self.train("resumed", "run", "--local", "--resume")

    def by_two_compilers(self):
        """The model as libraries of two compilers, each of them loaded by some nodes of one cluster."""
        folder = self.folder / "libraries"
        folder.mkdir()
        job = json.loads((self.folder / "local/job.json").read_text())
        job["model"].update(type="library", path=str(folder / "clang.so"))
        job["strategy"] = {"type": "ps"}
        job["cluster"] = {"coordinators": 1, "ps": 1, "workers": 2, "min_workers": 2}
        (folder / "job.json").write_text(json.dumps(job))
        with Server(folder) as zookeeper:
            agents = [self.agent(folder, zookeeper, compiler, tasks) for compiler, tasks in
                      (("gcc", "coordinator:0,ps:0,worker:0"), ("clang", "worker:1"))]
            errors = [agent.communicate()[1] for agent in agents]
        if any(agent.returncode for agent in agents):
            raise RuntimeError(" ".join(errors))
        call([PROGRAM, "export", folder / "gcc", "--to", folder / "model.safetensors"])
        with open(folder / "model.safetensors", "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        return header["__metadata__"]["digest"]

    def agent(self, folder, zookeeper, compiler, tasks):
        library = folder / f"{compiler}.so"
        call([compiler, "-shared", "-fPIC", "-O2", "-march=native", "-ffp-contract=off", f"-I{ROOT}/include",
              ROOT / f"examples/c/{self.name}", "-o", library])
        return subprocess.Popen(
            [PROGRAM, "agent", folder / "job.json", "--tasks", tasks, "--zk", zookeeper, "--set", f"model.path={library}",
             "--dir", folder / compiler, "--quiet"], stderr=subprocess.PIPE, text=True)


class Server:
    """A ZooKeeper server with its data in `folder`."""

    def __init__(self, folder):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address, self.config = f"127.0.0.1:{port}", folder / "zoo.cfg"
        self.config.write_text(f"dataDir={folder}/zookeeper\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
                               "tickTime=500\nmaxClientCnxns=0\nadmin.enableServer=false\n"
                               "4lw.commands.whitelist=srvr,ruok\n")

    def __enter__(self):
        call([PROGRAM, "zk", "start", self.config, "--quiet"])
        return self.address

    def __exit__(self, *unused):
        call([PROGRAM, "zk", "stop", self.config])


def build_programs(folder):
    build = Path(PROGRAM).resolve().parent
    call(["cmake", "--install", build, "--prefix", folder / "installed"])
    call(["cmake", "-S", ROOT / "examples/c", "-B", folder / "programs",
          f"-DCMAKE_PREFIX_PATH={folder / 'installed'}"])
    call(["cmake", "--build", folder / "programs"])


def compare(example):
    """The digest, or the error, of each way that this machine has."""
    found = {}
    for name, train in example.ways():
        try:
            found[name] = train()
        except FileNotFoundError as error:
            print(f"  skipped: {name}: there is no {error.filename}", file=sys.stderr, flush=True)
            continue
        except RuntimeError as error:
            if IMPOSSIBLE.search(str(error)):
                print(f"  skipped: {name}: {error}", file=sys.stderr, flush=True)
                continue
            found[name] = f"failed: {error}"
        print(f"  {found[name]} {name}", file=sys.stderr, flush=True)
    return {"name": example.name, "steps": example.steps, "same": len(set(found.values())) == 1 and
            re.fullmatch(r"[0-9a-f]+", found["local"]) is not None, "digests": found}


def print_table(results):
    print(f"{'EXAMPLE':16} {'STEPS':>6} {'WAYS':>5}  {'DIGEST':34} RESULT")
    for result in results:
        digests = result["digests"]
        different = [way for way, digest in digests.items() if digest != digests["local"]]
        print(f"{result['name']:16} {result['steps']:6} {len(digests):5}  {digests['local'][:32]:34} "
              f"{'same' if result['same'] else 'DIFFERENT: ' + ', '.join(different)}")


def read_options():
    names = [*(name for name in JOBS if '"mode": "async"' not in (ROOT / f"examples/{name}.json").read_text()), *PROGRAMS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all, {', '.join(names)}")
    parser.add_argument("--steps", type=int, default=6, help="steps of each run; default 6")
    parser.add_argument("--full", action="store_true", help="the steps, data and checkpoints of the jobs")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as of tanist run")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in names]
    if unknown:
        parser.error(f"there is no example '{unknown[0]}': give some of {', '.join(names)}")
    options.names = options.names or names
    return options


def main():
    options = read_options()
    results = []
    with tempfile.TemporaryDirectory(prefix="tanist-digests.") as folder:
        if set(options.names) & set(PROGRAMS):
            build_programs(Path(folder))
        for name in options.names:
            print(f"{name}:", file=sys.stderr, flush=True)
            results.append(compare(Example(name, options, Path(folder))))
    if options.output == "json":
        print(json.dumps({"version": 1, "examples": results}, indent=2))
    else:
        print_table(results)
    return 0 if all(result["same"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
