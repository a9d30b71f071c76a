"""Maintenance: branches moved, snapshots expired, orphan files removed, deletes converted. It plans and commits."""

from skipstone.maintenance.branches import FastForward, MoveRef, RenameBranch, RollBack
from skipstone.maintenance.cherry_pick import CherryPick, staged_snapshot
from skipstone.maintenance.equality_conversion import ConversionReport, convert_equality_deletes
from skipstone.maintenance.expire import ExpireSnapshots, ExpiryReport, expire_snapshots, plan_expiry
from skipstone.maintenance.garbage import Garbage
from skipstone.maintenance.manifest_rewrite import ManifestReport, RewriteManifests, rewrite_manifests
from skipstone.maintenance.orphans import PrefixMismatch, Search, find_orphans

__all__ = [
    "CherryPick",
    "ConversionReport",
    "ExpireSnapshots",
    "ExpiryReport",
    "FastForward",
    "Garbage",
    "ManifestReport",
    "MoveRef",
    "PrefixMismatch",
    "RenameBranch",
    "RewriteManifests",
    "RollBack",
    "Search",
    "convert_equality_deletes",
    "expire_snapshots",
    "find_orphans",
    "plan_expiry",
    "rewrite_manifests",
    "staged_snapshot",
]
