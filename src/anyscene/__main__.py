"""`python -m anyscene`: the same as the command `anyscene`."""

from anyscene.apps.main import main

main()
