"""Models in numbers rather than trees: times, replicas of other tools, the Ascend latency model."""
