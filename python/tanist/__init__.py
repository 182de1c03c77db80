"""Tanist from Python: start a run, follow it, and use its model.

    import tanist
    run = tanist.start("job.json", set={"train.steps": 500})
    for entry in run.watch():
        print(entry)
    print(run.wait().accuracy)
    weights = run.weights()

The package runs the program `tanist` and reads the files of its folders; docs/python.md describes it. It needs only the
standard library. numpy, where it is installed, makes arrays of weights.
"""

from tanist.columns import from_columns, from_pandas, from_parquet
from tanist.plots import Plot, plot
from tanist.runs import Error, Result, Run, open_run, start

__all__ = ["Error", "Plot", "Result", "Run", "from_columns", "from_pandas", "from_parquet", "open_run", "plot", "start"]
