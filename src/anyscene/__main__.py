"""`python -m anyscene`: the same as the command `anyscene`."""

from anyscene.apps.main import main

if __name__ == "__main__":  # processes that commands start import this module too
    main()
