"""What every folder stands on: errors, references, specs, registries, seeds."""
