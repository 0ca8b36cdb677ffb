"""Studies beyond the paper: limited data, other architectures, rivals, the zoo."""
