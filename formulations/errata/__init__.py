"""Claims of the texts that are wrong as printed, one per file, each with the evidence that kopt computes."""
