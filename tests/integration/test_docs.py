"""The code blocks of the README and the guide run, page by page, in an empty directory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def asks_for_spark(page: Path) -> bool:
    return any("skipstone.spark" in block[1] for block in BLOCK.finditer(page.read_text()))


CASES = [pytest.param(p, marks=[pytest.mark.spark] if asks_for_spark(p) else [], id=p.name) for p in PAGES]


@pytest.mark.parametrize("page", CASES)
def test_code_blocks_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if asks_for_spark(page):
        request.getfixturevalue("iceberg_java")  # the one session of this process
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    blocks = list(BLOCK.finditer(text))
    assert blocks, f"{page.name} has no code"
    names: dict[str, object] = {}
    for block in blocks:
        line = text[: block.start()].count("\n") + 1
        # Blank lines in front keep the page's line numbers in tracebacks.
        exec(compile("\n" * line + block[1], str(page), "exec"), names)
