"""The metastore's wire protocol: the interface as text, its values, and Thrift's binary protocol."""

from skipstone.hive.thrift.interface import Method, Struct, api, methods
from skipstone.hive.thrift.messages import Message, MessageKind, ProtocolViolation

__all__ = ["Message", "MessageKind", "Method", "ProtocolViolation", "Struct", "api", "methods"]
