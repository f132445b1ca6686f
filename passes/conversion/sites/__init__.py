"""What rows see of the node that they convert, apart from the walks over models."""
