"""For `pytest docs`: a script is no test, and collecting its doctests would run it."""

collect_ignore = ["change_a_paper.py"]
