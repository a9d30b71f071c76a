"""Manifests and manifest lists: Avro bytes to Arrow columns and back."""
