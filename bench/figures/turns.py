"""Programs that take turns in each round of a figure, and the options of bench/run."""

from pathlib import Path

from figures.processes import Cluster, Server, print_progress
from figures.ratios import Missing

QUIET = {"evaluate": {"every_steps": 0}, "checkpoint": {"every_seconds": 0}, "zookeeper": {"servers": 1}}


class Context:
    """The options of bench/run, and the sizes that depend on them."""

    def __init__(self, workspace, options):
        self.workspace, self.quick = workspace, options.quick
        self.peers_python = options.peers_python if options.peers else []
        self.rounds = 3 if options.quick else 15
        self.few_rounds = 1 if options.quick else 5
        self.window_s = 1.0 if options.quick else 3.0
        self.model_bytes = (64 if options.quick else 1024) << 20


def lines_of_rounds(text):
    return [tuple(float(number) for number in line.split()) for line in text.splitlines()]


def size_text(count):
    return f"{count >> 30} GiB" if count >= 1 << 30 else f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def counted(count, role):
    return f"{count} {role}" if count == 1 or role == "ps" else f"{count} {role}s"


def programs_in_turns(context, programs):
    """For each round: the rate of each program, while the others wait."""
    rows = []
    for number in range(context.rounds):
        rows.append(tuple(program.rate(context.window_s) for program in programs))
        print_progress(f"  round {number + 1} of {context.rounds}: " + " ".join(f"{rate:.4g}" for rate in rows[-1]))
    return rows


class Scaled:
    """A program that counts something else, for instance steps instead of examples."""

    def __init__(self, program, factor):
        self.program, self.factor = program, factor

    def rate(self, seconds):
        return self.program.rate(seconds) * self.factor


class Paused:
    """A cluster as one of the programs that take turns."""

    def __init__(self, cluster, factor=1):
        self.cluster, self.factor = cluster, factor
        cluster.pause()

    def rate(self, seconds):
        return self.cluster.rate_in_turn(seconds) * self.factor


def in_turns(context, cluster, servers, factor=1):
    """The same, where the first program is a cluster."""
    return programs_in_turns(context, [Paused(cluster, factor), *servers])


class Turn(Paused):
    """Another cluster, as one of these programs."""

    def __init__(self, context, job, factor=1, ready=2):
        """Waits for the step `ready`."""
        cluster = Cluster(context.workspace, job["name"], job)
        cluster.wait(f"step {ready}", lambda status: status["step"] >= ready)
        super().__init__(cluster, factor)


def over_tcp(context, job, factor=1):
    return Turn(context, dict(job, transport={"lane": "tcp"}), factor)


OVER_TCP = "the same cluster over TCP"


def start_peers(context, peers, *arguments):
    """The `peers` that run, with their names; the others are named on stderr."""
    found = []
    folder = Path(__file__).resolve().parent.parent / "peers"
    for script, name in peers:
        reasons = [] if context.peers_python else ["give --peers"]
        for python in context.peers_python:
            try:
                server = Server(context.workspace, python, "-B", str(folder / script), *arguments, greets=True)
                found.append((server, f"{name} ({server.greeting})"))
                break
            except Missing as missing:
                reasons.append(str(missing).splitlines()[-1][:200])
        else:
            print_progress(f"  skipped: {name}: {'; '.join(reasons)}")
    return found


