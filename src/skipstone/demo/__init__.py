"""The demo: what statistics do to one query, on a table of US shipping addresses that Spark loads and reads.

    python -m skipstone.demo [--rows N] [--seed S] [--directory DIR] [--master local[2]]

A chapter is one module under `chapters` with one function, `tell(story)`; `chapters.CHAPTERS` says their order.
"""
