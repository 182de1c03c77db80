"""Medians and quartiles over rounds, and the objects that bench/run writes."""

import statistics


class Missing(Exception):
    """A figure cannot be measured here; the text names what is missing."""


def quartiles(values):
    """The lower quartile, the median and the upper quartile."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    return tuple(statistics.quantiles(values, n=4, method="inclusive"))


def compare(values, limits):
    """The members of an object that are computed from the rounds; a limit of None: none was measured."""
    found = {"value": statistics.median(values), "limit": None, "ratio": None, "ratio_q1": None, "ratio_q3": None}
    if limits[0] is not None:
        low, middle, high = quartiles([value / limit for value, limit in zip(values, limits)])
        found.update(limit=statistics.median(limits), ratio=middle, ratio_q1=low, ratio_q3=high)
    return found


def figure(unit, better, size, rows, limit_name, others=()):
    """An object without its name. `rows`: a tuple for each round with the value, the limit and the others, in this
    order; `others`: their names."""
    columns = list(zip(*rows))
    found = {"unit": unit, **compare(columns[0], columns[1]), "rounds": len(rows), "better": better, "size": size,
             "limit_name": limit_name}
    found["beside"] = [{"name": name, **{key: member for key, member in compare(columns[0], columns[2 + i]).items()
                                         if key != "value"}} for i, name in enumerate(others)]
    return found
