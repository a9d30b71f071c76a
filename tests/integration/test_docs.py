"""The code blocks of the README and the guide run, page by page, in an empty directory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    blocks = list(BLOCK.finditer(text))
    assert blocks, f"{page.name} has no code"
    names: dict[str, object] = {}
    for block in blocks:
        line = text[: block.start()].count("\n") + 1
        # Blank lines in front keep the page's line numbers in tracebacks.
        exec(compile("\n" * line + block[1], str(page), "exec"), names)
