"""FAST as the head comment of its source file says it: counts of whole-page writes without trims."""

from dataclasses import dataclass


@dataclass(eq=False)
class Fast:
    blocks: int
    pages_per_block: int
    notes: int
    log_blocks: int = 8
    sequential_block: bool = True
    sw_rule: str = "always"
    sequential_merge: str = "newest"
    first_write: str = "data"
    skip_stale: bool = True
    reserve_blocks: int = 2
    order: str = "any"

    def __post_init__(self):
        self.b = self.pages_per_block
        self.free = self.blocks
        self.kept = self.reserve_blocks + self.notes
        self.data = {}  # logical block -> places that hold a copy, stale ones too
        self.newest = {}  # page -> "data", "sw", or (log, place)
        self.owner, self.next = None, 0  # of the sequential log block
        self.logs = []  # the oldest first: (name, pages)
        self.names = 0
        self.owed = set()  # logical blocks with log pages and no data block
        self.programs = self.copies = self.erases = self.switches = self.partials = self.fulls = 0

    def write(self, page):
        block, place = divmod(page, self.b)
        if page not in self.newest and self.first_write == "data":
            if block not in self.data and self.owner != block:
                self.make_room()
                if block not in self.data:
                    self.take()
                    self.data[block] = set()
            if block in self.data and self.fits(block, place):
                self.data[block].add(place)
                return self.put(page, "data")
        if place == 0 and self.starts(block):
            self.end_sequence(self.sequential_merge)
            self.make_room()
            self.take()
            self.owner, self.next = block, 1
            return self.put(page, "sw")
        if self.owner == block:
            return self.go_on(page, block, place)
        return self.append(page, block)

    def fits(self, block, place):
        if self.order == "any":
            return place not in self.data[block]
        return place > max(self.data[block], default=-1)

    def put(self, page, where):
        self.newest[page] = where
        self.programs += 1

    def copy(self):
        self.copies += 1
        self.programs += 1

    def take(self):
        assert self.free > 0
        self.free -= 1

    def erase(self):
        self.free += 1
        self.erases += 1

    def has_room(self):
        return self.free > self.kept + len(self.owed)

    def make_room(self):
        while not self.has_room():
            if self.logs:
                self.merge_oldest()
            else:
                assert self.owner is not None
                self.end_sequence("newest")

    def mapped(self, block):
        return [page for page in range(block * self.b, (block + 1) * self.b) if page in self.newest]

    def in_log(self, block):
        return any(isinstance(self.newest[page], tuple) for page in self.mapped(block))

    def starts(self, block):
        if not self.sequential_block or self.sw_rule == "never":
            return False
        return self.sw_rule == "always" or not self.in_log(block)

    def go_on(self, page, block, place):
        if place < self.next:
            # Everything is gathered in a new block, with the page of the host.
            self.fulls += 1
            self.take()
            others = [other for other in self.mapped(block) if other != page]
            for _ in others:
                self.copy()
            self.put(page, "data")
            self.settle(block, {other % self.b for other in self.mapped(block)})
            for other in self.mapped(block):
                self.newest[other] = "data"
            self.owner = None
            self.erase()
            return
        if place == self.next:
            self.put(page, "sw")
            self.next += 1
            if self.next == self.b:
                self.end_sequence(self.sequential_merge)
            return
        self.put(page, "sw")
        self.end_sequence(self.sequential_merge, host_place=place)

    def settle(self, block, places):
        """A new data block; the old one is erased."""
        self.owed.discard(block)
        if block in self.data:
            self.erase()
        self.data[block] = places

    def end_sequence(self, source, host_place=None):
        if self.owner is None:
            return
        block, self.owner = self.owner, None
        copied = False
        places = set()
        for place in range(self.b):
            page = block * self.b + place
            where = self.newest.get(page)
            if where is None:
                continue
            if where == "sw":
                places.add(place)
            elif where == "data" or source == "newest":
                self.copy()
                copied = True
                places.add(place)
                self.newest[page] = "data"
            elif place in self.data.get(block, ()):
                self.copy()
                copied = True
                places.add(place)
        for page in self.mapped(block):
            if self.newest[page] == "sw":
                self.newest[page] = "data"
        if copied:
            self.partials += 1
        else:
            self.switches += 1
        self.settle(block, places)

    def append(self, page, block):
        if block not in self.data and block not in self.owed:
            self.make_room()
            self.owed.add(block)
        while not self.logs or len(self.logs[-1][1]) == self.b:
            if len(self.logs) < self.log_blocks and self.has_room():
                self.take()
                self.names += 1
                self.logs.append((self.names, []))
            elif self.logs:
                self.merge_oldest()
            else:
                self.make_room()
        name, pages = self.logs[-1]
        self.put(page, (name, len(pages)))
        pages.append(page)

    def merge_oldest(self):
        name, pages = self.logs[0]
        for place, page in enumerate(pages):
            block = page // self.b
            newest = self.newest[page] == (name, place)
            if not newest and (self.skip_stale or not self.in_log(block)):
                continue
            if self.owner == block:
                self.end_sequence("newest")
                continue
            self.fulls += 1
            self.take()
            for other in self.mapped(block):
                self.copy()
                self.newest[other] = "data"
            self.settle(block, {other % self.b for other in self.mapped(block)})
        self.logs.pop(0)
        self.erase()
