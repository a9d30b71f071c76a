"""The spec's nouns: bytes in, values out. Nothing here opens a file."""
