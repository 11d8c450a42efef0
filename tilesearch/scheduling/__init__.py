"""Modulo schedules: the shortest period with proof, then the shortest iteration, then the fewest buffer bytes.

`problem` says what is given, `solve` answers, `check` judges an answer independently of how it was found.
"""

from tilesearch.scheduling.problem import Buffer, Edge, Exclusion, Group, Line, Loop, Task
from tilesearch.scheduling.solve import Goal, Schedule, schedule_line, schedule_loop

__all__ = [
    "Buffer",
    "Edge",
    "Exclusion",
    "Goal",
    "Group",
    "Line",
    "Loop",
    "Schedule",
    "Task",
    "schedule_line",
    "schedule_loop",
]
