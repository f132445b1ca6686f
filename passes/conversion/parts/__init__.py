"""What several rows share: how operands are read, and parts of graphs that they add."""
