"""Zone maps from what storage knows: manifests, partition tuples, field summaries, footers, stripes and page indexes.

Each builder gives one `ZoneMap`, one zone a manifest, file, row group, stripe or page. What the source does not tell is
unknown, never zero; what it tells oddly becomes unknown too.
"""

from skipstone.zones.build.footers import from_parquet_footer
from skipstone.zones.build.manifests import from_manifest_table
from skipstone.zones.build.partitions import from_partitions
from skipstone.zones.build.summaries import from_field_summaries

__all__ = ["from_field_summaries", "from_manifest_table", "from_parquet_footer", "from_partitions"]
