"""Tables as folders with one .npy file for each column, which Tanist reads in place."""

import json
import os
import shutil
import struct
from pathlib import Path

from tanist import arrays

PARTIAL = ".partial"


def check_name(name):
    text = str(name)
    if not text or "/" in text or "\0" in text or text.startswith("."):
        raise ValueError(f"the column {name!r} cannot be the name of a file: rename it")
    return text


def is_text(column):
    return any(isinstance(value, str) for value in column)


def encode(name, column, vocabularies):
    """Texts as their numbers in a vocabulary: a given one, or all texts of the column, sorted. Tanist reads numbers."""
    texts = ["" if value is None else str(value) for value in column]
    words = vocabularies.setdefault(name, sorted(set(texts)))
    number = {word: i for i, word in enumerate(words)}
    return [number.get(text, len(words)) for text in texts]


def write_column(path, column):
    """By numpy if it is installed, which keeps the type of an array; otherwise by arrays.write_npy()."""
    if arrays.numpy is None:
        try:
            arrays.write_npy(path, column)
        except (OverflowError, TypeError, struct.error) as problem:
            raise ValueError(f"the column {path.stem} has a value that is not a number of 64 bits: {problem}") from None
        return
    values = arrays.numpy.asarray(column)
    if values.dtype == object:
        wide = [value for value in values if isinstance(value, int) and not -2**63 <= value < 2**64]
        if wide:
            raise ValueError(f"the column {path.stem} has a value that is not a number of 64 bits: {wide[0]}")
        values = arrays.numpy.array([float("nan") if value is None else float(value) for value in values])
    if values.dtype.kind not in "biuf":
        raise ValueError(f"the column {path.stem} has the type {values.dtype}: make numbers of it")
    arrays.numpy.save(path, arrays.numpy.ascontiguousarray(values))


def replace_folder(partial, folder):
    """The complete folder takes the place of an earlier one, which must consist of columns."""
    if folder.exists():
        stray = [path.name for path in folder.iterdir() if path.suffix != ".npy"]
        if stray:
            raise FileExistsError(f"{folder} contains other files ({stray[0]}): give another folder")
        shutil.rmtree(folder)
    os.rename(partial, folder)


def from_columns(columns, folder, vocabularies=None):
    """Write {name: sequence} as a folder of .npy files. Returns the vocabularies, {name: texts}, of columns of texts.

    All columns have the same length. Missing numbers become NaN. A column of texts becomes one of numbers: give the
    vocabularies of the training data for further data, where an unknown text then has the number behind the last one.
    They are also written to FOLDER.vocabularies.json.
    """
    folder = Path(folder)
    lengths = {check_name(name): len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"the columns have different lengths, or there are none: {lengths}")
    found = {name: list(words) for name, words in (vocabularies or {}).items()}
    partial = folder.with_name(folder.name + PARTIAL)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        for name, column in columns.items():
            texts = name in found or is_text(column)
            write_column(partial / f"{name}.npy", encode(name, column, found) if texts else column)
        replace_folder(partial, folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    if found:
        folder.with_name(folder.name + ".vocabularies.json").write_text(json.dumps(found, indent=1))
    return found


def from_pandas(frame, folder, vocabularies=None):
    """from_columns() of a pandas DataFrame; categories count as their texts or numbers."""
    columns = {}
    for name in frame.columns:
        series = frame[name]
        if str(series.dtype) == "category":
            series = series.astype(series.cat.categories.dtype)
        missing = series.isna()
        if missing.any() or series.dtype.kind not in "fiub":
            columns[str(name)] = [None if gone else value for value, gone in zip(series, missing)]
        else:
            columns[str(name)] = series.to_numpy()
    return from_columns(columns, folder, vocabularies)


def from_parquet(path, folder, columns=None, vocabularies=None):
    """from_columns() of a Parquet file, or of some of its columns; needs pyarrow."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path, columns=columns)
    return from_columns({name: table.column(name).to_pylist() for name in table.column_names},
                        folder, vocabularies)
