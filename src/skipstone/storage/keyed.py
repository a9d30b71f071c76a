"""A storage that comes with the keys of a table: what its encrypted files are opened with.

It stores and reads as the storage below does, bytes as they are. Whoever reads an encrypted file knows which one it is,
by the key metadata beside its name, and opens it; the master key of it all is asked for here.
"""

from __future__ import annotations

from typing import Any, cast

from skipstone.metadata.blobs.encryption import KeyManagement
from skipstone.storage.protocol import Storage


class _KeyedStorage:
    def __init__(self, storage: Storage, kms: KeyManagement) -> None:
        self._storage = storage
        self._kms = kms

    def __repr__(self) -> str:
        return f"{self._storage!r} with keys"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # looked for before there is a storage, while it is unpickled
            raise AttributeError(name)
        return getattr(self._storage, name)


def with_keys(storage: Storage, kms: KeyManagement | None) -> Storage:
    """The storage, with key management if there is any."""
    return storage if kms is None else cast("Storage", _KeyedStorage(storage, kms))


def without_keys(storage: Storage) -> Storage:
    """The storage below."""
    return storage._storage if isinstance(storage, _KeyedStorage) else storage


def keys_of(storage: Storage) -> KeyManagement | None:
    """The key management that comes with a storage."""
    return storage._kms if isinstance(storage, _KeyedStorage) else None
