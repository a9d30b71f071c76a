"""Statistics as steps: computed from manifests and data files, published, kept current, audited, used to estimate."""
