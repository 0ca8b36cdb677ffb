"""`python -m headcount` is the `headcount` command."""

from headcount.cli import main

if __name__ == "__main__":
    main()
