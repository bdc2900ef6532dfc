"""SQLite on a disk served by NBD, without a file system: each file is a region of the disk.

sqlite.py write SOCKET JOURNAL   prints `committed N` after each transaction, until the server is gone
sqlite.py check SOCKET JOURNAL   prints the last transaction in the database, after an integrity check

A region begins with a page that holds the file's length; the length 0 is a file that is not there. Only
reads, writes and flushes reach the disk, so a kill of the server is a power cut for SQLite.
"""

import random
import socket
import struct
import sys

import apsw

HEAD = 4096
REGIONS = {"": (0, 8 << 20), "-journal": (8 << 20, 2 << 20), "-wal": (10 << 20, 4 << 20)}
READ, WRITE, FLUSH = 0, 1, 3


class Client:
    """One NBD connection, one request at a time."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.take(18)
        self.socket.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        self.take(10)

    def take(self, count):
        found = bytearray()
        while len(found) < count:
            more = self.socket.recv(count - len(found))
            if not more:
                raise ConnectionError("the server is gone")
            found += more
        return bytes(found)

    def ask(self, kind, at=0, count=0, data=b""):
        self.socket.sendall(struct.pack(">IHHQQI", 0x25609513, 0, kind, 0, at, count or len(data)) + data)
        error = struct.unpack(">IIQ", self.take(16))[1]
        if error:
            raise OSError(error, "the disk refuses")
        return self.take(count) if kind == READ else b""


class Region:
    """A file."""

    def __init__(self, client, suffix):
        self.client, (self.at, self.room) = client, REGIONS[suffix]
        (self.length,) = struct.unpack("<Q", client.ask(READ, self.at, 8))

    def resize(self, length):
        assert HEAD + length <= self.room, "the region is full"
        self.length = length
        self.client.ask(WRITE, self.at, data=struct.pack("<Q", length))


class File:
    """An open file; SQLite has it for itself, so locks do nothing."""

    def __init__(self, region):
        self.region = region

    def xRead(self, amount, offset):
        amount = max(0, min(amount, self.region.length - offset))
        return self.region.client.ask(READ, self.region.at + HEAD + offset, amount) if amount else b""

    def xWrite(self, data, offset):
        assert HEAD + offset + len(data) <= self.region.room, "the region is full"
        self.region.client.ask(WRITE, self.region.at + HEAD + offset, data=bytes(data))
        if offset + len(data) > self.region.length:
            self.region.resize(offset + len(data))

    def xTruncate(self, length):
        self.region.resize(length)

    def xSync(self, flags):
        self.region.client.ask(FLUSH)

    def xFileSize(self):
        return self.region.length

    def xFileControl(self, op, pointer):
        return False

    def xCheckReservedLock(self):
        return False

    def xSectorSize(self):
        return 4096

    def xDeviceCharacteristics(self):
        return 0

    def xLock(self, level):
        pass

    def xUnlock(self, level):
        pass

    def xClose(self):
        pass


class Disk(apsw.VFS):
    """The regions as files named `db`, `db-journal` and `db-wal`."""

    def __init__(self, client):
        self.regions = {"db" + suffix: Region(client, suffix) for suffix in REGIONS}
        super().__init__("disk", base="")

    def xOpen(self, name, flags):
        flags[1] = flags[0]
        return File(self.regions[name.filename() if isinstance(name, apsw.URIFilename) else name])

    def xDelete(self, name, sync):
        # As lasting as a commit must be: SQLite would sync the directory only at `synchronous=EXTRA`.
        self.regions[name].resize(0)
        self.regions[name].client.ask(FLUSH)

    def xAccess(self, name, flags):
        return self.regions[name].length > 0

    def xFullPathname(self, name):
        return name


def opened(client, journal):
    # It must live as long as its connections.
    opened.disk = Disk(client)
    db = apsw.Connection("db", vfs="disk")
    pragmas = f"locking_mode=exclusive journal_mode={journal} wal_autocheckpoint=200 synchronous=full"
    for line in pragmas.split():
        db.execute(f"pragma {line}").fetchall()
    return db


def write(client, journal):
    db = opened(client, journal)
    db.execute("create table if not exists t (id integer primary key, number integer, text blob)")
    db.execute("create table if not exists last (number integer)")
    number = db.execute("select max(number) from last").fetchone()[0] or 0
    draw = random.Random(number)
    while True:
        number += 1
        with db:
            for _ in range(draw.randrange(1, 12)):
                text = draw.randbytes(draw.randrange(1, 3000))
                db.execute("insert or replace into t values (?, ?, ?)", (draw.randrange(1500), number, text))
            db.execute("insert into last values (?)", (number,))
        print("committed", number, flush=True)


def check(client, journal):
    db = opened(client, journal)
    found = db.execute("pragma integrity_check").fetchall()
    assert found == [("ok",)], found
    if not db.execute("select 1 from sqlite_master where name = 'last'").fetchall():
        print(0)
        return
    count, last = db.execute("select count(*), coalesce(max(number), 0) from last").fetchone()
    assert count == last, f"{count} of {last} transactions"
    newest = db.execute("select coalesce(max(number), 0) from t").fetchone()[0]
    assert newest == last, f"rows of transaction {newest}, the last one is {last}"
    print(last)


if __name__ == "__main__":
    _, todo, path, mode = sys.argv
    {"write": write, "check": check}[todo](Client(path), mode)
