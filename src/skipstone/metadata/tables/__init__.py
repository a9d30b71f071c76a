"""Table metadata and what it holds: snapshots, refs, properties, statistics files, history."""
