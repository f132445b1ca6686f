"""The rows of the conversion table, one file a family of operators."""
