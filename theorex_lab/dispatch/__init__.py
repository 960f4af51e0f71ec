"""Models asked, traced and handed tasks."""
