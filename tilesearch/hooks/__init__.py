"""For other people's autotuners: only what can run, best first."""
