"""Planning: from a predicate to the files, deletes and residuals of a scan."""

from skipstone.plan.levels import LevelReport
from skipstone.plan.scan import ScanPlan, plan_scan

__all__ = ["LevelReport", "ScanPlan", "plan_scan"]
