"""`python -m theorex_lab` is the `theorex` command."""

from theorex_lab.app.cli import main

if __name__ == "__main__":
    main()
