#!/usr/bin/env python3
"""Checks the colours of a picture's ranks: colours.py PICTURE CONVERTED.

CONVERTED is the picture as rsvg-convert wrote it, so with the colours that a program draws which
knows no style sheets. Prints whether it has the colours of all eight ranks of the picture, and the
distance of the nearest two colours by CIE 76, in each theme: as most people see them, and as
deuteranopes do (the matrix of Machado, Oliveira and Fernandes, 2009, for severity 1).
"""

import itertools
import math
import pathlib
import re
import sys

Colour = tuple[float, float, float]

RANKS = 8
MATRIX = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)


def linear(hexadecimal: str) -> Colour:
    """The linear RGB of "#739cb9"."""
    values = [int(hexadecimal[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values)
    return red, green, blue


def lab(colour: Colour) -> Colour:
    """CIE L*a*b* under D65."""

    def f(t: float) -> float:
        return math.cbrt(t) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116

    red, green, blue = colour
    x = f((0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047)
    y = f(0.2126729 * red + 0.7151522 * green + 0.0721750 * blue)
    z = f((0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def deuteranope(colour: Colour) -> Colour:
    red, green, blue = (
        min(1.0, max(0.0, sum(factor * value for factor, value in zip(row, colour))))
        for row in MATRIX
    )
    return red, green, blue


def nearest(colours: list[Colour]) -> float:
    return min(math.dist(lab(a), lab(b)) for a, b in itertools.combinations(colours, 2))


def main() -> None:
    picture, converted = (pathlib.Path(name).read_text() for name in sys.argv[1:])
    attribute = r'class="c{}[^"]*" fill="(#\w{{6}})"'
    rule = r"\.c{}\{{fill:(#\w{{6}})\}}"
    drawn = {
        tuple(round(float(percent) * 2.55) for percent in match)
        for match in re.findall(
            r"fill(?::|=\")rgb\(([\d.]+)%,\s*([\d.]+)%,\s*([\d.]+)%\)", converted
        )
    }
    for theme, pattern in (("light", attribute), ("dark", rule)):
        colours = []
        for rank in range(RANKS):
            match = re.search(pattern.format(rank), picture)
            if match is None:
                sys.exit(f"{sys.argv[1]}: rank {rank} has no {theme} colour")
            colours.append(match[1])
        if theme == "light":
            wanted = {tuple(int(c[i : i + 2], 16) for i in (1, 3, 5)) for c in colours}
            print("drawn", "all" if wanted <= drawn else f"without {sorted(wanted - drawn)}")
        values = [linear(colour) for colour in colours]
        print(theme, f"{nearest(values):.1f}", f"{nearest([deuteranope(v) for v in values]):.1f}")


if __name__ == "__main__":
    main()
