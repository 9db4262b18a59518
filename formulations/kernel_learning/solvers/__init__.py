"""How kernels are learnt fast: each solver is found by itself, as formulations are."""
