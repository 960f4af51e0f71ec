"""The journal in a PostgreSQL database, which several machines share."""
