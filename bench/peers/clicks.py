"""The file of bench_clicks, for all peers that train a model of clicks: rows for training, then rows for tests."""

import numpy

NAME = "clicks.rows"
NUMBERS, CATEGORIES = 13, 26
CROSSES = ((0, 1), (2, 3), (4, 5), (6, 7))  # The pairs of columns of the wide & deep model.
SCALE = 0.0346  # The bound of its initial values, whose deviation is 0.02, as in Tanist.
ROW = numpy.dtype([("click", "<f4"), ("numbers", "<f4", NUMBERS), ("keys", "<u8", CATEGORIES)])


def load(path, crosses=()):
    """Clicks, numbers, and the keys of each column as consecutive rows of one table, behind which are those of `crosses`,
    pairs of columns; the number of rows of each column."""
    rows = numpy.fromfile(path, ROW)
    columns = [rows["keys"][:, column] for column in range(CATEGORIES)]
    ids = numpy.empty((len(rows), CATEGORIES + len(crosses)), numpy.int64)
    counts = []
    for column in range(ids.shape[1]):
        if column >= CATEGORIES:
            first, second = crosses[column - CATEGORIES]
            columns.append(ids[:, first] * sum(counts[:CATEGORIES]) + ids[:, second])
        values, ids[:, column] = numpy.unique(columns[column], return_inverse=True)
        ids[:, column] += sum(counts)
        counts.append(len(values))
    return rows["click"].copy(), rows["numbers"].copy(), ids, counts


def area_of(scores, clicks):
    """The area under the ROC curve, by the ranks of the clicks."""
    order = numpy.argsort(scores, kind="stable")
    ranks = numpy.empty(len(scores))
    ranks[order] = numpy.arange(1, len(scores) + 1)
    hits = clicks > 0
    count = hits.sum()
    return (ranks[hits].sum() - count * (count + 1) / 2) / (count * (len(clicks) - count))
