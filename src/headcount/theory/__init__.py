"""What heads can do for a kernel: fits, errors in balls, certificates, the paper's bounds."""
