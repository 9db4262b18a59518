"""Measurements that are run by hand: `python -m tests.benchmarks.<name>`. Nothing here is a timed test."""
