"""Pictures of curves, drawn by `tanist plot`."""

import tempfile
from pathlib import Path

from tanist.program import call


class Plot:
    """A picture: `svg` is its text, and a notebook shows it."""

    def __init__(self, svg):
        self.svg = svg

    def _repr_svg_(self):
        return self.svg

    def _repr_html_(self):
        return self.svg

    def save(self, path):
        Path(path).write_text(self.svg)


def plot(*runs, metric="loss", log=False, program=None):
    """The curves of runs, given as tanist.Run or as folders. `metric`: a name, or several."""
    folders = [getattr(run, "dir", run) for run in runs]
    program = program or next((run._program for run in runs if getattr(run, "_program", None)), None)
    metrics = [metric] if isinstance(metric, str) else list(metric)
    options = [option for name in metrics for option in ("--metric", name)] + (["--log"] if log else [])
    with tempfile.TemporaryDirectory(prefix="tanist-plot.") as folder:
        path = Path(folder) / "plot.svg"
        call(["plot", *folders, *options, "--to", path], program)
        return Plot(path.read_text())
