"""Avro files in, Arrow tables out (`decode`), and back (`encode`)."""

from skipstone.metadata.avro.caps import Caps
from skipstone.metadata.avro.container import AvroContainer, Block, parse_container
from skipstone.metadata.avro.reading import decode

__all__ = ["AvroContainer", "Block", "Caps", "decode", "parse_container"]
