"""Zones as the Zoned Namespace command set 1.1 describes them: a model for tests. Blocks have 512 bytes."""

from collections import namedtuple

EMPTY, IMPLICIT, EXPLICIT, CLOSED, FULL = 1, 2, 3, 4, 14
CLOSE, FINISH, OPEN, RESET, COMMIT = 1, 2, 3, 4, 0x11
BLOCK = 512


Shape = namedtuple("Shape", "count size capacity max_open max_active area step max_areas")
"""What a drive tells about its zones; sizes in blocks, `step` is by what a commit moves a write pointer."""


class Refused(Exception):
    """The status with which a zone refuses."""

    def __init__(self, status):
        super().__init__(hex(status))
        self.status = status


class Zone:
    """A zone: `pointer` counts blocks from its start."""

    def __init__(self, capacity):
        self.state, self.pointer, self.has_area = EMPTY, 0, False
        self.data = bytearray(capacity * BLOCK)

    def is_open(self):
        return self.state in (IMPLICIT, EXPLICIT)

    def is_active(self):
        return self.is_open() or self.state == CLOSED


class Zones:
    """All zones of a drive."""

    def __init__(self, shape):
        self.size, self.capacity = shape.size, shape.capacity
        self.max_open, self.max_active = shape.max_open, shape.max_active
        self.area, self.step, self.max_areas = shape.area, shape.step, shape.max_areas
        self.all = [Zone(shape.capacity) for _ in range(shape.count)]
        self.opened = []
        """Zones opened by writes, the oldest first."""

    def split(self, block):
        return self.all[block // self.size], block % self.size

    def first(self, block):
        zone, at = self.split(block)
        if at:
            raise Refused(0x002)
        return zone

    def open(self, zone, to):
        if not zone.is_open():
            active = sum(other.is_active() for other in self.all)
            if not zone.is_active() and active >= self.max_active:
                raise Refused(0x1BD)
            if sum(other.is_open() for other in self.all) >= self.max_open:
                if not self.opened:
                    raise Refused(0x1BE)
                self.opened.pop(0).state = CLOSED
        elif zone.state == EXPLICIT or to == IMPLICIT:
            return
        else:
            self.opened.remove(zone)
        zone.state = to
        if to == IMPLICIT:
            self.opened.append(zone)

    def leave(self, zone, to):
        if zone in self.opened:
            self.opened.remove(zone)
        zone.state = to
        if to in (EMPTY, FULL):
            zone.has_area = False

    def store(self, zone, at, data):
        zone.data[at * BLOCK : at * BLOCK + len(data)] = data

    def fill(self, zone, pointer):
        zone.pointer = min(pointer, self.capacity)
        if zone.pointer == self.capacity:
            self.leave(zone, FULL)

    def write(self, block, data):
        if block + len(data) // BLOCK > len(self.all) * self.size:
            raise Refused(0x080)
        self.put(block, data)

    def put(self, block, data):
        zone, at = self.split(block)
        end = at + len(data) // BLOCK
        if zone.state == FULL:
            raise Refused(0x1B9)
        if zone.has_area:
            if end > self.capacity:
                raise Refused(0x1B8)
            if at < zone.pointer or end > zone.pointer + 2 * self.area:
                raise Refused(0x1BC)
            self.open(zone, IMPLICIT)
            self.store(zone, at, data)
            beyond = end - zone.pointer - self.area
            if beyond > 0:
                self.fill(zone, zone.pointer + -(-beyond // self.step) * self.step)
            return
        if at != zone.pointer:
            raise Refused(0x1BC)
        if end > self.capacity:
            raise Refused(0x1B8)
        self.open(zone, IMPLICIT)
        self.store(zone, at, data)
        self.fill(zone, end)

    def append(self, block, data):
        zone = self.first(block)
        if zone.has_area and zone.state != FULL:
            raise Refused(0x1B6)
        at = block + zone.pointer if zone.state != FULL else block
        self.put(at, data)
        return at

    def change(self, block, action, with_area=False):
        if action == COMMIT:
            return self.commit(block)
        zone = self.first(block)
        if zone.state == FULL and action == OPEN:
            raise Refused(0x1BF)
        if action == OPEN and with_area:
            self.open_random(zone)
        elif action == OPEN:
            self.open(zone, EXPLICIT)
        elif action == CLOSE:
            if not zone.is_active():
                raise Refused(0x1BF)
            self.leave(zone, CLOSED)
        elif action == FINISH:
            zone.pointer = self.capacity
            self.leave(zone, FULL)
        elif action == RESET:
            zone.pointer, zone.data = 0, bytearray(self.capacity * BLOCK)
            self.leave(zone, EMPTY)
        return None

    def open_random(self, zone):
        if not zone.has_area:
            if zone.state != EMPTY:
                raise Refused(0x1BF)
            if sum(other.has_area for other in self.all) == self.max_areas:
                raise Refused(0x1B7)
        self.open(zone, EXPLICIT)
        zone.has_area = True

    def commit(self, block):
        zone, at = self.split(block)
        if zone.state == FULL:
            raise Refused(0x1B9)
        if not zone.has_area:
            raise Refused(0x1B6)
        end = at + 1
        blocks = end - zone.pointer
        is_step = blocks > 0 and (blocks % self.step == 0 or end == self.capacity)
        if not is_step or end > min(zone.pointer + self.area, self.capacity):
            raise Refused(0x002)
        self.open(zone, IMPLICIT)
        self.fill(zone, end)

    def change_all(self, action):
        if action == OPEN and sum(zone.state in (EXPLICIT, CLOSED) for zone in self.all) > self.max_open:
            raise Refused(0x1BE)
        concerned = {
            OPEN: lambda zone: zone.state == CLOSED,
            CLOSE: Zone.is_open,
            FINISH: Zone.is_active,
            RESET: lambda zone: zone.state != EMPTY,
        }[action]
        for number in [at for at, zone in enumerate(self.all) if concerned(zone)]:
            self.change(number * self.size, action)

    def report(self):
        """As the initiator reads it."""
        return [
            (
                zone.state,
                zone.has_area << 3,
                self.capacity,
                number * self.size,
                2**64 - 1 if zone.state == FULL else number * self.size + zone.pointer,
            )
            for number, zone in enumerate(self.all)
        ]
