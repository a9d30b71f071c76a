"""Transforms, partition specs and sort orders."""
