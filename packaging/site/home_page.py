"""Makes the pages of the site from the repository's files: a hook of mkdocs.yml.

README.md becomes the home page. A link to a file outside docs leads to a copy of that file as text; a
link to a folder becomes plain text, because the site has no page for it.
"""

import os.path
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
copied: set[str] = set()


def site_link(folder: str, match: re.Match[str]) -> str:
    """The link as it must be on the site; `folder` contains the page with the link."""
    text, target = match[1], match[2]
    path, _, anchor = target.partition("#")
    if not path or "://" in path:
        return match[0]
    file = os.path.normpath(os.path.join(folder, path))
    if file == "README.md":
        return f"[{text}](index.md{'#' + anchor if anchor else ''})"
    if file.startswith("docs/"):
        return f"[{text}]({os.path.relpath(file, 'docs')}{'#' + anchor if anchor else ''})"
    if (ROOT / file).is_dir():
        return text
    if file not in copied:
        raise FileNotFoundError(f"{folder}: {target}")
    return f"[{text}](files/{file}.txt)"


def files_outside_docs(folder: str, text: str) -> set[str]:
    """Files outside docs to which a page links."""
    found = set()
    for _, target in LINK.findall(text):
        path = target.partition("#")[0]
        file = os.path.normpath(os.path.join(folder, path)) if path and "://" not in path else ""
        if (ROOT / file).is_file() and file != "README.md" and not file.startswith("docs/"):
            found.add(file)
    return found


def on_files(files: Files, config: Any, **_: Any) -> Files:
    readme = (ROOT / "README.md").read_text()
    files.append(File.generated(config, "index.md", content=readme))
    copied.update(files_outside_docs("", readme))
    for page in (ROOT / "docs").glob("*.md"):
        copied.update(files_outside_docs("docs", page.read_text()))
    # Room for the output of commands, which has up to 100 columns.
    files.append(File.generated(config, "site.css", content=".md-grid { max-width: 76rem; }\n"))
    for file in sorted(copied):
        content = (ROOT / file).read_bytes()
        files.append(File.generated(config, f"files/{file}.txt", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    folder = "" if page.file.src_uri == "index.md" else "docs"
    text = LINK.sub(lambda match: site_link(folder, match), markdown)
    return re.sub(r"\]\(docs/images/", "](images/", text)
