"""Skipstone: statistics-first lakehouse tables on the Iceberg table spec."""

__version__ = "0.1.0"
