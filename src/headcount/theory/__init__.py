"""What heads can do for a kernel: fits, errors in ball arithmetic, certificates, the paper's
bounds.
"""
