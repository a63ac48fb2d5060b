"""Where the tests find the package and the command distgpu, and how many scripts they make up."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/convert"))
os.environ.setdefault(
    "DISTGPU", os.environ.get("DISTGPU_COMMAND", str(ROOT / "build/dev/tools/distgpu/distgpu"))
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--hostile", type=int, default=100, help="how many scripts nobody writes")
