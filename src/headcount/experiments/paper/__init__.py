"""The paper's eight experiments, one file each."""
