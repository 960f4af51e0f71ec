"""The measures: what is needed next, what is found, what is chosen well."""
