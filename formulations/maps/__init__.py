"""The dictionary between parametrisations: each file ties machines together, in both directions where there are two."""
