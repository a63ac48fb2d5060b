"""report.md and report.json, written anew after each case: the minutes may end at any moment."""

import json
import pathlib
import time
from typing import Any

from gpu_kit.case import Case, Outcome, Status
from gpu_kit.kit import Kit

LONGEST_TEXT = 20_000  # of one case


class Report:
    def __init__(self, folder: pathlib.Path, kit: Kit) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.kit = kit
        self.started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.rows: list[dict[str, Any]] = []

    def add(self, case: Case, outcome: Outcome, seconds: float) -> None:
        self.rows.append(
            {
                "case": case.name,
                "about": case.about,
                "status": outcome.status.value,
                "line": outcome.line,
                "seconds": round(seconds, 1),
                "facts": outcome.facts,
                "text": outcome.text[-LONGEST_TEXT:],
            }
        )
        self._write()

    def count(self, status: Status) -> int:
        return sum(row["status"] == status.value for row in self.rows)

    @property
    def summary(self) -> str:
        passed, failed, skipped = (self.count(status) for status in Status)
        return f"{passed} passed, {failed} failed, {skipped} skipped"

    def table(self) -> str:
        rows = ["| Case | | s | What was seen |", "|---|---|---|---|"]
        for row in self.rows:
            line = row["line"].replace("|", "\\|")
            rows.append(f"| {row['case']} | {row['status']} | {row['seconds']} | {line} |")
        return "\n".join(rows)

    def _write(self) -> None:
        what = "stand-ins for NVIDIA's libraries: no figure here is of a GPU"
        machine = what if self.kit.mocks else ", ".join(gpu.name for gpu in self.kit.gpus)
        details = "".join(
            f"\n## {row['case']}\n{row['about']}: {row['status']}\n\n```\n{row['text']}\n```\n"
            for row in self.rows
            if row["text"]
        )
        page = (
            f"# distgpu on a GPU\n{self.started}; {machine}\n\n{self.table()}\n\n{self.summary}\n"
        )
        self._replace("report.md", page + details)
        whole = {
            "schema": "distgpu.gpu-report/1",
            "started": self.started,
            "mocks": self.kit.mocks is not None,
            "cases": self.rows,
        }
        self._replace("report.json", json.dumps(whole, indent=1) + "\n")

    def _replace(self, name: str, text: str) -> None:
        draft = self.folder / (name + ".new")
        draft.write_text(text)
        draft.replace(self.folder / name)
