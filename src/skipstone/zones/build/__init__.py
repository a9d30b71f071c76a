"""Zone maps from what storage knows: manifests, partition tuples, field summaries, footers, stripes and page indexes.

Each builder gives one `ZoneMap`, one zone a manifest, file, row group, stripe or page. What the source does not tell is
unknown, never zero; what it tells oddly becomes unknown too.
"""

from skipstone.zones.build.file_bytes import FileBytes
from skipstone.zones.build.footers import from_parquet_footer
from skipstone.zones.build.manifests import from_manifest_table
from skipstone.zones.build.orc_stripes import from_orc_stripes
from skipstone.zones.build.pages import PageZones, from_page_index
from skipstone.zones.build.partitions import from_partitions
from skipstone.zones.build.summaries import from_field_summaries

__all__ = [
    "FileBytes",
    "PageZones",
    "from_field_summaries",
    "from_manifest_table",
    "from_orc_stripes",
    "from_page_index",
    "from_parquet_footer",
    "from_partitions",
]
