#!/usr/bin/python3
"""Reads metrics with Prometheus' own parser, which Debian packages for its Python.

parse_metrics.py FILE... prints of each file how many families and samples it has.
Fails where a family has no help or no type, where a name lacks the program's prefix, or where two
samples are the same series.
"""

import pathlib
import sys

from prometheus_client.parser import text_string_to_metric_families


def describe(path: pathlib.Path) -> str:
    families = list(text_string_to_metric_families(path.read_text(encoding="utf-8")))
    series = set()
    for family in families:
        if not family.documentation or family.type != "gauge":
            raise ValueError(f"{path}: {family.name}: no help or no type")
        for sample in family.samples:
            one = (sample.name, frozenset(sample.labels.items()))
            if one in series or not sample.name.startswith("nccl_scaling_"):
                raise ValueError(f"{path}: {one}: twice, or not of this program")
            series.add(one)
    return f"{path.name} {len(families)} {len(series)}"


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(describe(pathlib.Path(argument)))
