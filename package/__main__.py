"""`python -m maxfold`."""

from maxfold.cli import app

# Worker processes import this module under another name.
if __name__ == "__main__":
    app()
