"""Catalogs: which metadata file is a table's current one."""

from skipstone.catalog.filesystem import FilesystemCatalog
from skipstone.catalog.identifiers import Identifier, Namespace, parse_identifier, parse_namespace
from skipstone.catalog.protocol import Catalog, LoadedTable
from skipstone.catalog.sql import SqlCatalog

__all__ = [
    "Catalog",
    "FilesystemCatalog",
    "Identifier",
    "LoadedTable",
    "Namespace",
    "SqlCatalog",
    "parse_identifier",
    "parse_namespace",
]
