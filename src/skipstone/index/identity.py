"""What ties an index file to the manifest it speaks of: path, length and entry counts, as manifest lists have them."""

from __future__ import annotations

from dataclasses import dataclass

from skipstone.metadata.manifests.manifest import ManifestFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    manifest_path: str
    manifest_length: int
    spec_id: int
    content: int
    live_files: int

    def why_not(self, manifest: ManifestFile) -> str | None:
        """Why this is not about the manifest; None if it is."""
        counts = manifest.added_files_count, manifest.existing_files_count
        told = None if None in counts else sum(c or 0 for c in counts)
        pairs = (
            ("path", self.manifest_path, manifest.manifest_path),
            ("length", self.manifest_length, manifest.manifest_length),
            ("partition spec", self.spec_id, manifest.partition_spec_id),
            ("content", self.content, int(manifest.content)),
            ("live files", self.live_files, self.live_files if told is None else told),
        )
        for what, ours, theirs in pairs:
            if ours != theirs:
                return f"it is about a manifest with {what} {ours}, not {theirs}"
        return None


def identity_of(manifest: ManifestFile, live_files: int) -> Identity:
    return Identity(
        manifest_path=manifest.manifest_path,
        manifest_length=manifest.manifest_length,
        spec_id=manifest.partition_spec_id,
        content=int(manifest.content),
        live_files=live_files,
    )
