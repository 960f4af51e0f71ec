"""Read what others wrote in a process of its own.

A file may hang its reader, fill the memory or end the process. Then it costs that file
alone. The functions that read are listed in `table`, `process` calls them, and `serve`
runs them.
"""
