"""``python -m rlselect``: the command line where the script is not on the path."""

from rlselect.cli import main

if __name__ == "__main__":
    main(prog_name="rlselect")
