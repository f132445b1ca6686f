"""Measures maxfold and its peers on the same models, in the same run; see README.md beside this file."""
