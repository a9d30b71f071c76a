from __future__ import annotations

from xml.etree import ElementTree

from rich.console import Console

from skipstone.ui.levels import LevelRow, bar, blocks_of, svg_of, table_of
from skipstone.ui.numbers import in_bytes, in_percent, in_seconds

ROWS = [
    LevelRow(name="off", partitions=51, files=1200, row_groups=4800, bytes=12_345_678, seconds=4.0, count=17),
    LevelRow(name="all <levels>", partitions=1, files=1, row_groups=1, bytes=999, seconds=0.1, count=17),
]


def text_of(renderable: object) -> str:
    console = Console(width=160, record=True, file=None, quiet=False, no_color=True)
    with console.capture() as captured:
        console.print(renderable)
    return captured.get()


def test_table_shows_every_measure_and_the_share_of_the_first_ones_time() -> None:
    lines = text_of(table_of(ROWS)).splitlines()
    assert lines[0].split() == [
        "skipping", "partitions", "files", "row", "groups", "bytes", "time", "of", "the", "time", "count",
    ]  # fmt: skip
    assert lines[1].split() == ["off", "51", "1,200", "4,800", "12.3", "MB", "4.00", "s", "100%", "17"]
    assert lines[2].split() == ["all", "<levels>", "1", "1", "1", "999", "B", "100", "ms", "2.50%", "17"]


def test_a_bar_is_proportional_and_never_hides_a_value_above_zero() -> None:
    assert bar(10, 10, 4) == "████"
    assert bar(5, 10, 4) == "██"
    assert bar(1e-9, 10, 4) == "▏"
    assert bar(0, 10, 4) == ""
    assert bar(0, 0, 4) == ""


def test_blocks_have_one_line_a_way() -> None:
    lines = text_of(blocks_of(ROWS)).splitlines()
    assert len(lines) == 3
    assert lines[1].count("█") > 20 > lines[2].count("█")


def test_picture_is_well_formed_and_escapes_what_it_shows() -> None:
    root = ElementTree.fromstring(svg_of("zip_code < '10001' & more", ROWS))
    texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "zip_code < '10001' & more" in texts
    assert "all <levels>" in texts
    assert "12.3 MB" in texts
    widths = [float(e.attrib["width"]) for e in root.iter("{http://www.w3.org/2000/svg}rect") if "y" in e.attrib]
    assert len(widths) == 5 * len(ROWS)
    assert all(w > 0 for w in widths)


def test_numbers_read_well() -> None:
    assert [in_bytes(n) for n in (0, 999, 1000, 1_234_567, 5e18)] == ["0 B", "999 B", "1 kB", "1.23 MB", "5e+03 PB"]
    assert [in_seconds(s) for s in (0.0123, 0.9, 3.21)] == ["12 ms", "900 ms", "3.21 s"]
    assert [in_percent(*p) for p in ((1, 2), (1, 1000), (0, 5), (1, 0))] == ["50%", "0.10%", "0%", ""]
