"""The dictionary between parametrisations: each file ties two machines together, in both directions."""
