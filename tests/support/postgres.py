"""A real PostgreSQL server in a temporary directory, from the packages of the machine.

The server listens on a loopback port of its own, trusts everyone there, and does not force anything to disk: it lives
as long as the tests. Where it is not installed, `PostgresUnavailable` says so and the tests are skipped and counted.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import Final

import psycopg

MISSING: Final = "PostgreSQL not installed"
_USER: Final = "skipstone"
# The server refuses to run as root.
_SYSTEM_USERS: Final = ("postgres", "nobody")
_SETTINGS: Final = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200"


class PostgresUnavailable(Exception):
    """There is no PostgreSQL server to start."""


class Postgres:
    """A running server. Each test asks for a schema of its own."""

    def __init__(self) -> None:
        self._programs = _programs()
        self._home = Path(tempfile.mkdtemp(prefix="skipstone-postgres-"))
        self._prefix = self._other_user()
        self._port = _free_port()
        try:
            self._run("initdb", "-D", self._data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
            self._start()
        except BaseException:
            shutil.rmtree(self._home, ignore_errors=True)
            raise

    @property
    def port(self) -> int:
        return self._port

    def create_schema(self) -> str:
        """The URI of a new empty schema: what connects through it sees nothing else. A database would cost a second."""
        name = f"t{uuid.uuid4().hex}"
        uri = f"postgresql://{_USER}@127.0.0.1:{self._port}/postgres"
        with psycopg.connect(uri, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"{uri}?options=-csearch_path%3D{name}"

    def restart(self) -> None:
        """Break every connection, and keep what was committed."""
        self._run("pg_ctl", "-D", self._data, "-m", "fast", "-w", "stop")
        self._start()

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(self._home, ignore_errors=True)

    @property
    def _data(self) -> str:
        return str(self._home / "data")

    def _start(self) -> None:
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -k {self._home} {_SETTINGS}"
        self._run("pg_ctl", "-D", self._data, "-l", str(self._home / "log"), "-o", options, "-w", "start")

    def _other_user(self) -> list[str]:
        if os.geteuid() != 0:
            return []
        for name in _SYSTEM_USERS:
            try:
                user = pwd.getpwnam(name)
            except KeyError:
                continue
            os.chown(self._home, user.pw_uid, user.pw_gid)
            return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        raise PostgresUnavailable(f"{MISSING}: no user to run the server as.")

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [*self._prefix, str(self._programs / program), *arguments],
            cwd=self._home,
            # Not pipes: the server inherits them and would keep this call waiting for their end.
            stdout=subprocess.DEVNULL,
            stderr=(log := (self._home / f"{program}.err").open("w+b")),
            env={"PATH": os.environ.get("PATH", ""), "HOME": str(self._home), "LC_ALL": "C"},
            check=False,
        )
        with log:
            if done.returncode:
                log.seek(0)
                raise RuntimeError(f"{program} failed: {log.read().decode(errors='replace')}")


def _programs() -> Path:
    """The directory of the newest server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: _version(p.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    raise PostgresUnavailable(f"{MISSING}: initdb was not found. Run scripts/setup, or apt-get install postgresql.")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
