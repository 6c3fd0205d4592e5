"""`python -m lanewise`: the command line, where its script is not on the path."""

from lanewise.cli import main

if __name__ == "__main__":
    main()
