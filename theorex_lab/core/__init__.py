"""What the rest of the package is built with and that knows nothing of memory."""
