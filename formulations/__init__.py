"""Kernel machines from the texts, each declared in one file as a primal and a dual."""
