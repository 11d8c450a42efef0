"""Replays of the Ascend references: single tasks, and scheduling instances."""

from tilesearch.api.verify.ascend.schedules import verify_schedules
from tilesearch.api.verify.ascend.tasks import verify_tasks

__all__ = ["verify_schedules", "verify_tasks"]
