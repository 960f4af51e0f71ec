"""Files of other systems and of other homes, read and written."""
