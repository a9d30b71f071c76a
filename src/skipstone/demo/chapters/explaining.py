"""Why the files that were read had to be: the skip index, and the query explained level by level."""

from __future__ import annotations

from typing import Final

from skipstone.demo.story import QUERY, Story
from skipstone.ui.explain_picture import explanation_svg
from skipstone.ui.explain_table import explanation_table
from skipstone.ui.numbers import in_bytes

PICTURE: Final = "explain.svg"


def tell(story: Story) -> None:
    story.begin_chapter("Index and explain")
    index = story.table.index.status()
    explanation = story.table.scan(QUERY).explanation()
    story.findings["index"], story.findings["explanation"] = index, explanation
    picture = story.directory / PICTURE
    picture.write_text(explanation_svg(explanation))
    story.console.print(
        f"Skip index on {', '.join(index.columns)}: {index.manifests_indexed:,} of {index.manifests:,} manifests, "
        f"{in_bytes(index.size_in_bytes)}\n",
        highlight=False,
    )
    story.console.print(explanation_table(explanation))
    story.console.print(f"\nPicture: {picture}\n", highlight=False)
