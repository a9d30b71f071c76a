"""Schemas as they are stored, evolve, merge and are read by: ids, defaults, promotion, name mapping, projection."""
