"""BAST as the head comment of its source file says it: counts of whole-page writes without trims.

Programs, copies and erases of the flash, and switch, partial and full merges.
"""

from dataclasses import dataclass


@dataclass(eq=False)
class Bast:
    blocks: int
    pages_per_block: int
    notes: int
    log_blocks: int = 8
    victim: str = "lru"
    first_write: str = "data"
    partial_merge: bool = True
    reserve_blocks: int = 2
    order: str = "any"

    def __post_init__(self):
        self.b = self.pages_per_block
        self.free = self.blocks
        self.kept = self.reserve_blocks + self.notes
        self.data = {}  # logical block -> the pages that were programmed, by place
        self.logs = {}  # logical block -> its log block
        self.newest = {}  # page -> ("data", None) or ("log", place)
        self.clock = 0
        self.programs = self.copies = self.erases = self.switches = self.partials = self.fulls = 0

    def write(self, page):
        block, place = divmod(page, self.b)
        if self.first_write == "data":
            if block not in self.data:
                self.make_room()
                if block not in self.data:
                    self.take()
                    self.data[block] = set()
            if page not in self.newest and self.fits(block, place):
                self.data[block].add(place)
                self.programs += 1
                self.newest[page] = ("data", place)
                return
        while block not in self.logs or len(self.logs[block]["pages"]) == self.b:
            if block in self.logs:
                self.merge(block)
            else:
                self.bind(block)
        log = self.logs[block]
        self.newest[page] = ("log", len(log["pages"]))
        log["pages"].append(page)
        log["written"] = self.tick()
        self.programs += 1

    def fits(self, block, place):
        if self.order == "any":
            return place not in self.data[block]
        return place > max(self.data[block], default=-1)

    def tick(self):
        self.clock += 1
        return self.clock

    def take(self):
        assert self.free > 0
        self.free -= 1

    def erase(self):
        self.free += 1
        self.erases += 1

    def make_room(self):
        while self.free <= self.kept:
            self.merge(self.pick())

    def bind(self, block):
        while len(self.logs) >= self.log_blocks:
            self.merge(self.pick())
        self.make_room()
        self.take()
        now = self.tick()
        self.logs[block] = {"pages": [], "bound": now, "written": now}

    def pick(self):
        def key(block):
            log = self.logs[block]
            if self.victim == "fifo":
                return log["bound"]
            if self.victim == "fullest":
                return (-len(log["pages"]), log["written"])
            return log["written"]

        return min(self.logs, key=key)

    def merge(self, block):
        log = self.logs.pop(block)["pages"]
        pages = range(block * self.b, (block + 1) * self.b)
        mapped = [page for page in pages if page in self.newest]
        in_order = all(
            page == block * self.b + i and self.newest[page] == ("log", i) for i, page in enumerate(log)
        )
        others = [page for page in mapped if self.newest[page][0] == "data"]
        has_data = block in self.data
        if in_order and not others:
            self.switches += 1
            filled = set(range(len(log)))
        elif in_order and self.partial_merge:
            self.partials += 1
            self.copies += len(others)
            self.programs += len(others)
            filled = {page % self.b for page in mapped}
        else:
            self.fulls += 1
            self.take()
            self.copies += len(mapped)
            self.programs += len(mapped)
            filled = {page % self.b for page in mapped}
        if has_data:
            self.erase()
        if not in_order or (others and not self.partial_merge):
            self.erase()
        self.data[block] = filled
        for page in mapped:
            self.newest[page] = ("data", page % self.b)
