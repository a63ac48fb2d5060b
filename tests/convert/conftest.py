"""Where the tests find the package and the command distgpu."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/convert"))
os.environ.setdefault(
    "DISTGPU", os.environ.get("DISTGPU_COMMAND", str(ROOT / "build/dev/tools/distgpu/distgpu"))
)
