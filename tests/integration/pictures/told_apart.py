#!/usr/bin/env python3
"""Says how well the ranks' colours of a picture are told apart.

told_apart.py PICTURE
    For light and dark: the smallest distance, between the colours of two ranks
    that follow each other, and that between any two, as people see them who see all colours,
    no red, no green, or no blue. It is CIE 76's: about 2 is just seen side by side.
"""

import itertools
import math
import pathlib
import re
import sys

Colour = tuple[float, float, float]

# Of linear RGB: Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of
# color vision deficiency" (2009), severity 1.
VISIONS: tuple[tuple[Colour, Colour, Colour], ...] = (
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
)


def linear(code: str) -> Colour:
    def part(start: int) -> float:
        value = int(code[start : start + 2], 16) / 255
        return value / 12.92 if value <= 0.04045 else math.pow((value + 0.055) / 1.055, 2.4)

    return part(0), part(2), part(4)


def seen(vision: tuple[Colour, Colour, Colour], colour: Colour) -> Colour:
    def part(row: Colour) -> float:
        return min(1.0, max(0.0, sum(a * b for a, b in zip(row, colour))))

    return part(vision[0]), part(vision[1]), part(vision[2])


def lab(colour: Colour) -> Colour:
    def root(value: float) -> float:
        return math.cbrt(value) if value > 0.008856 else 7.787 * value + 16 / 116

    red, green, blue = colour
    x = root((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505)
    y = root(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    z = root((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def main() -> None:
    style = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    codes = re.findall(r"--c\d:#([0-9a-f]{6})", style)
    half = len(codes) // 2
    for name, shown in (("light", codes[:half]), ("dark", codes[half:])):
        following = every = math.inf
        for vision in VISIONS:
            places = [lab(seen(vision, linear(code))) for code in shown]
            pairs = zip(places, places[1:] + places[:1])
            following = min(following, *itertools.starmap(math.dist, pairs))
            pairs_of_all = itertools.combinations(places, 2)
            every = min(every, *itertools.starmap(math.dist, pairs_of_all))
        print(f"{name}: {len(shown)} colours, following {following:.0f}, any {every:.0f}")


main()
