"""The metastore's Thrift service: which call does what, and the sockets it is asked through."""

from skipstone.hive.service.server import HiveServer, ServerSettings
from skipstone.hive.service.service import HiveService

__all__ = ["HiveServer", "HiveService", "ServerSettings"]
