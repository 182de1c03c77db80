#!/usr/bin/env python3
"""Writes the data of shops.json and embed.json: readings of shops as a person would export them, with numbers,
categories, quotes, UTF-8 and missing values. The same seed gives the same bytes.

    python3 examples/csv/make.py     # writes shops-train-*.csv and shops-test.csv to examples/csv/data
"""

import argparse
import csv
import math
import random
from pathlib import Path

CITIES = {"Zürich": 0.9, "Genève": 0.2, "Bern, Altstadt": -0.4, 'Chur "Nord"': -1.1, "Łódź": 0.5}
KINDS = {"café": 0.8, "bakery": -0.2, "kiosk": -0.9}


def row(draw):
    """One shop: whether it was busy depends on the temperature, the hour, the city and its kind."""
    city, kind = draw.choice(list(CITIES)), draw.choice(list(KINDS))
    degrees, hour, price = draw.gauss(12, 8), draw.randrange(24), math.exp(draw.gauss(1, 0.5))
    rush = 1.2 if 7 <= hour < 10 or 17 <= hour < 20 else -0.6
    score = CITIES[city] + KINDS[kind] + rush + (degrees - 12) / 8 - 0.3 * (price - 3)
    busy = "busy" if score + draw.gauss(0, 0.5) > 0 else "quiet"
    note = draw.choice(["", "opened late", 'sign "closed"', "two\nlines"])
    return [city, kind, f"{degrees:.1f}" if draw.random() > 0.05 else "", hour, f"{price:.2f}", note, busy]


def write(path, rows, draw):
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["city", "kind", "degrees", "hour", "price", "note", "traffic"])
        for _ in range(rows):
            out.writerow(row(draw))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, default=Path(__file__).parent / "data")
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.to.mkdir(parents=True, exist_ok=True)
    draw = random.Random(args.seed)
    for part in range(3):
        write(args.to / f"shops-train-{part}.csv", args.rows // 3, draw)
    write(args.to / "shops-test.csv", args.rows // 6, draw)


if __name__ == "__main__":
    main()
