"""On-line algorithms of the texts as solvers of declared formulations, each in one file."""
