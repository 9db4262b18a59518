"""Kernel values computed and used in one pass, never stored: compiled by numba, and imported only where it pays."""
