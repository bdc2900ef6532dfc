"""A small NVMe/TCP host, written from the specifications: NVM Express base 2.0, NVMe/TCP transport 1.0."""

import socket
import struct
import uuid
from typing import ClassVar

CONNECT, PROPERTY_SET, PROPERTY_GET, DISCONNECT = 0x01, 0x00, 0x04, 0x08
DISCOVERY = "nqn.2014-08.org.nvmexpress.discovery"
IN_CAPSULE, BY_TRANSPORT = 0x01, 0x5A
HOST = uuid.UUID(int=70)


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def crc32c(data):
    """The Castagnoli checksum, as PDUs carry it."""
    total = 0xFFFFFFFF
    for byte in data:
        total = total >> 8 ^ _TABLE[(total ^ byte) & 255]
    return struct.pack("<I", total ^ 0xFFFFFFFF)


class Failed(Exception):
    """A command's status, without "do not retry"."""

    def __init__(self, status, result=0):
        super().__init__(f"status type {status >> 8}, code {status & 255:#04x}")
        self.status, self.result = status, result


class Ended(Exception):
    """The controller ended the connection; `reason` is its termination's status, if it sent one."""

    def __init__(self, reason=None):
        super().__init__(f"terminated: {reason}")
        self.reason = reason


class Connection:
    """A queue's connection. Digests are taken as asked, and checked in every PDU."""

    opened: ClassVar[list] = []
    """Every connection since the last `close_all`."""

    def __init__(self, address, header_digest=False, data_digest=False):
        self.socket = socket.create_connection(address, timeout=20)
        self.opened.append(self)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb", buffering=1 << 20)
        self.header_digest = self.data_digest = False
        self.done, self.data, self.payloads = {}, {}, {}
        self._next = 0
        head = struct.pack("<BBBBIHBBI", 0, 0, 128, 0, 128, 0, 0, header_digest | data_digest << 1, 0)
        self.socket.sendall(head.ljust(128, b"\0"))
        kind, _, header, _ = self.receive()
        assert (kind, len(header)) == (0x01, 128)
        assert header[11] == header_digest | data_digest << 1, "digests are granted as asked"
        self.header_digest, self.data_digest = header_digest, data_digest
        (self.most_data,) = struct.unpack_from("<I", header, 12)
        assert self.most_data >= 4096

    @classmethod
    def close_all(cls):
        """Ends every connection of this process."""
        while cls.opened:
            cls.opened.pop().close()

    def close(self):
        """Ends the connection without a word."""
        self.stream.close()
        self.socket.close()

    def pdu(self, kind, header, data=b"", flags=0):
        """A PDU's bytes."""
        length = 8 + len(header)
        offset = length + 4 * self.header_digest if data else 0
        flags |= self.header_digest | (bool(data) and self.data_digest) << 1
        whole = length + 4 * self.header_digest
        whole += len(data) + 4 * self.data_digest if data else 0
        pieces = [struct.pack("<BBBBI", kind, flags, length, offset, whole) + header]
        if self.header_digest:
            pieces.append(crc32c(pieces[0]))
        if data:
            pieces.append(data)
            if self.data_digest:
                pieces.append(crc32c(data))
        return b"".join(pieces)

    def _read(self, count):
        found = self.stream.read(count)
        if len(found) < count:
            raise Ended
        return found

    def receive(self):
        """The next PDU: kind, flags, header, data."""
        try:
            head = self._read(8)
        except ConnectionResetError:
            raise Ended from None
        kind, flags, length, offset, whole = struct.unpack("<BBBBI", head)
        rest = head + self._read(whole - 8)
        header = rest[:length]
        if kind == 0x03:
            raise Ended(struct.unpack_from("<H", header, 8)[0])
        if kind != 0x01:
            assert flags & 1 == self.header_digest
        if self.header_digest:
            assert rest[length : length + 4] == crc32c(header)
        end = whole
        if kind == 0x07 and self.data_digest:
            assert flags & 2
            end -= 4
            assert rest[end:] == crc32c(rest[offset:end])
        return kind, flags, header, rest[offset:end] if offset else b""

    def entry(self, opcode, fields=(), pointer=(0, 0), namespace=0):
        """A submission queue entry with a new identifier; `fields` are offset, format, value."""
        self._next = (self._next + 1) % 0xFFFF
        entry = bytearray(64)
        struct.pack_into("<BBHI", entry, 0, opcode, 0x40, self._next, namespace)
        struct.pack_into("<I", entry, 32, pointer[1])
        entry[39] = pointer[0]
        for offset, form, value in fields:
            struct.pack_into("<" + form, entry, offset, value)
        return bytes(entry)

    def start(self, entry, data=b"", length=0):
        """The bytes that start a command; more than 8 KiB of `data` go when they are asked for."""
        entry = bytearray(entry)
        if data:
            inside = len(data) <= 8192
            struct.pack_into("<I", entry, 32, len(data))
            entry[39] = IN_CAPSULE if inside else BY_TRANSPORT
            if not inside:
                self.payloads[struct.unpack_from("<H", entry, 2)[0]] = data
                data = b""
        elif length:
            struct.pack_into("<I", entry, 32, length)
            entry[39] = BY_TRANSPORT
        return self.pdu(0x04, bytes(entry), data)

    def step(self):
        """Takes one PDU; the identifier of a command that it ended, else None."""
        kind, flags, header, data = self.receive()
        if kind == 0x07:
            command, _, offset, length = struct.unpack_from("<HHII", header, 8)
            assert length == len(data)
            into = self.data.setdefault(command, bytearray())
            assert offset == len(into)
            into += data
            if flags & 8:
                self.done[command] = (0, 0)
                return command
        elif kind == 0x09:
            command, tag, offset, length = struct.unpack_from("<HHII", header, 8)
            payload, end = self.payloads[command], offset + length
            for at in range(offset, end, self.most_data):
                part = payload[at : min(at + self.most_data, end)]
                last = 4 if at + len(part) == end else 0
                send = struct.pack("<HHIII", command, tag, at, len(part), 0)
                self.socket.sendall(self.pdu(0x06, send, part, last))
        else:
            assert kind == 0x05, kind
            result, _, _, command, status = struct.unpack_from("<QHHHH", header, 8)
            self.done[command] = (status >> 1, result)
            return command
        return None

    def finish(self, command):
        """Waits for a command's end: its result and its data."""
        while command not in self.done:
            self.step()
        status, result = self.done.pop(command)
        self.payloads.pop(command, None)
        data = bytes(self.data.pop(command, b""))
        if status:
            raise Failed(status & 0x7FF, result)
        return result, data

    def ask(self, entry, data=b"", length=0):
        """Carries out one command."""
        self.socket.sendall(self.start(entry, data, length))
        return self.finish(struct.unpack_from("<H", entry, 2)[0])

    def fabrics(self, kind, fields=(), data=b""):
        """A fabrics command's result."""
        return self.ask(self.entry(0x7F, [(4, "B", kind), *fields]), data)[0]

    def connect(self, queue, controller, nqn, entries=128, keep_alive=0, no_flow_control=False):
        """Connect; the controller's identifier."""
        data = HOST.bytes + struct.pack("<H", controller)
        data = data.ljust(256, b"\0") + nqn.encode().ljust(256, b"\0")
        data = (data + f"nqn.2014-08.org.nvmexpress:uuid:{HOST}".encode()).ljust(1024, b"\0")
        fields = [(42, "H", queue), (44, "H", entries - 1), (46, "B", no_flow_control << 2)]
        return self.fabrics(CONNECT, [*fields, (48, "I", keep_alive)], data) & 0xFFFF

    def property(self, offset, wide=False):
        """A property's value."""
        return self.fabrics(PROPERTY_GET, [(40, "B", wide), (44, "I", offset)])

    def configure(self, value):
        """Writes the controller configuration."""
        self.fabrics(PROPERTY_SET, [(44, "I", 0x14), (48, "Q", value)])


class Queue(Connection):
    """An I/O queue."""

    def range(self, opcode, block, blocks, flags=0):
        """An entry for some blocks."""
        fields = [(40, "Q", block), (48, "I", blocks - 1 | flags)]
        return self.entry(opcode, fields, namespace=1)

    def read(self, block, blocks, size=512):
        """Blocks' bytes."""
        return self.ask(self.range(2, block, blocks), length=blocks * size)[1]

    def write(self, block, data, size=512, fua=False):
        """Writes blocks."""
        self.ask(self.range(1, block, len(data) // size, fua << 30), data)

    def compare(self, block, data, size=512):
        """Compares blocks."""
        self.ask(self.range(5, block, len(data) // size), data)

    def verify(self, block, blocks):
        """Reads blocks without a transfer."""
        self.ask(self.range(0x0C, block, blocks))

    def zero(self, block, blocks, deallocate=False):
        """Write Zeroes."""
        self.ask(self.range(8, block, blocks, deallocate << 25))

    def trim(self, ranges, room=0):
        """Dataset Management: deallocates. The data is `room` bytes long, or as long as the ranges."""
        data = b"".join(struct.pack("<IIQ", 0, blocks, block) for block, blocks in ranges)
        data = data.ljust(room, b"\xff")
        self.ask(self.entry(9, [(40, "I", len(ranges) - 1), (44, "I", 4)], namespace=1), data)

    def append(self, block, data, size=512, fua=False):
        """Zone Append; the first block written."""
        fields = [(40, "Q", block), (48, "I", len(data) // size - 1 | fua << 30)]
        return self.ask(self.entry(0x7D, fields, namespace=1), data)[0]

    def change(self, block, action, to_all=False, with_area=False):
        """Zone Management Send."""
        fields = [(40, "Q", block), (52, "I", action | to_all << 8 | with_area << 9)]
        self.ask(self.entry(0x79, fields, namespace=1))

    def report(self, block=0, room=1 << 16, select=0, partial=False, action=0):
        """Zone Management Receive: a number; (state, attributes, capacity, start, pointer) of each zone."""
        fields = [(40, "Q", block), (48, "I", room // 4 - 1), (52, "I", action | select << 8 | partial << 16)]
        found = self.ask(self.entry(0x7A, fields, namespace=1), length=room)[1]
        (number,) = struct.unpack_from("<Q", found)
        zones = []
        for at in range(64, min(64 + 64 * number, room - 63), 64):
            kind, state, attributes, capacity, start, pointer = struct.unpack_from("<BBB5xQQQ", found, at)
            assert kind == 2, "writes are required to be in order"
            zones.append((state >> 4, attributes, capacity, start, pointer))
        return number, zones

    def place(self, block, data, identifier, kind=2, size=512):
        """Writes blocks with a placement identifier, or with another directive."""
        fields = [(40, "Q", block), (48, "I", len(data) // size - 1 | kind << 20), (54, "H", identifier)]
        self.ask(self.entry(1, fields, namespace=1), data)

    def handles(self, room=4096, operation=1):
        """I/O Management Receive: (identifier, handle, blocks left) of each descriptor."""
        fields = [(40, "I", operation), (44, "I", room // 4 - 1)]
        found = self.ask(self.entry(0x12, fields, namespace=1), length=room)[1]
        (number,) = struct.unpack_from("<H", found, 14)
        places = range(16, min(16 + 32 * number, room - 31), 32)
        return [struct.unpack_from("<HH4xQ", found, at) for at in places]

    def update(self, identifiers, operation=1):
        """I/O Management Send: handles begin another reclaim unit."""
        data = struct.pack(f"<{len(identifiers)}H", *identifiers)
        fields = [(40, "I", operation | (len(identifiers) - 1) << 16)]
        self.ask(self.entry(0x1D, fields, namespace=1), data)

    def flush(self, namespace=1):
        """Flush."""
        self.ask(self.entry(0, namespace=namespace))


class Controller(Connection):
    """An admin queue with an enabled controller."""

    def __init__(self, address, nqn, keep_alive=0, **digests):
        super().__init__(address, **digests)
        self.address, self.nqn, self.digests = address, nqn, digests
        self.id = self.connect(0, 0xFFFF, nqn, entries=32, keep_alive=keep_alive)
        self.configure(0x00460061)
        assert self.property(0x1C) & 1, "it is ready at once"

    def identify(self, structure, namespace=0, command_set=0):
        """An Identify structure."""
        fields = [(40, "I", structure), (44, "I", command_set << 24)]
        return self.ask(self.entry(6, fields, namespace=namespace), length=4096)[1]

    def log(self, page, count, offset=0, group=0):
        """A log page's bytes."""
        fields = [(40, "I", page | (count // 4 - 1) << 16), (44, "I", group << 16), (48, "Q", offset)]
        return self.ask(self.entry(2, fields, namespace=0xFFFFFFFF), length=count)[1]

    def placement_events(self, of_host, room=4096):
        """Log 23h: (kind, flags, identifier, ms, namespace, blocks, group, handle) of each event."""
        fields = [(40, "I", 0x23 | of_host << 8 | (room // 4 - 1) << 16), (44, "I", 1 << 16)]
        found = self.ask(self.entry(2, fields, namespace=0xFFFFFFFF), length=room)[1]
        (count,) = struct.unpack_from("<I", found)
        return [
            struct.unpack_from("<BBHQI2xH12xHB", found, at)
            for at in range(64, min(64 + 64 * count, room - 63), 64)
        ]

    def wanted_events(self, handle, room=255, namespace=1):
        """Get Features 1Eh: every kind of event, and whether it is logged for a handle."""
        fields = [(40, "I", 0x1E), (44, "I", handle | room << 16)]
        count, data = self.ask(self.entry(0x0A, fields, namespace=namespace), length=2 * room)
        return {data[2 * at]: data[2 * at + 1] for at in range(count & 0xFF)}

    def want_events(self, handle, kinds, on=True, room=0, namespace=1):
        """Set Features 1Eh, with `room` bytes or as many as there are kinds."""
        fields = [(40, "I", 0x1E), (44, "I", handle | len(kinds) << 16), (48, "I", int(on))]
        self.ask(self.entry(9, fields, namespace=namespace), bytes(kinds).ljust(room, b"\xff"))

    def feature(self, number, value=None):
        """Gets a feature, or sets it."""
        fields = [(40, "I", number), (44, "I", value or 0)]
        return self.ask(self.entry(0x0A if value is None else 9, fields))[0] & 0xFFFFFFFF

    def queue(self, number, **options):
        """A new connection with this I/O queue."""
        queue = Queue(self.address, **self.digests)
        queue.connect(number, self.id, self.nqn, **options)
        return queue
