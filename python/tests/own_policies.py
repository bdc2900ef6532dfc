"""Policies of nandlab once more, in Python, from their descriptions: counts must agree to the unit."""

from collections import OrderedDict

import numpy as np

from nandlab.policy import Placement, Replacement, Victim, Wear

NO_VICTIM = 16384


class Greedy(Victim):
    def pick(self, blocks):
        return blocks.valid.argmin()


class Fifo(Victim):
    def pick(self, blocks):
        return blocks.first


class CostBenefit(Victim):
    def pick(self, blocks):
        # A block that is no victim has more valid pages than there are, so its worth is below 0.
        pages, valid = np.float32(blocks.pages_per_block), blocks.valid.astype(np.float32)
        age = blocks.ages.astype(np.float32) + np.float32(1)
        return ((pages - valid) * age / (pages + valid)).argmax()


class SepBit(Placement):
    """The classes 0 and 1 are the host's, 2 to 5 are those of moved pages."""

    frontiers = 6
    shares = False
    BLOCKS = 16

    def start(self, known):
        self.clock, self.sum, self.count, self.mean = 0, 0, 0, None
        self.last = {}
        self.blocks = {}

    def written(self, page, origin):
        now = self.clock
        self.clock += 1
        before = self.last.get(page, 0)
        self.last[page] = self.clock
        return int(before == 0 or (self.mean is not None and now + 1 - before >= self.mean))

    def moved(self, page, block):
        if self.blocks.get(block, (None, 0))[0] == 0:
            return 2
        written = self.last.get(page, 0)
        if written == 0:
            return 5
        age = self.clock - written
        if self.mean is None or age < 4 * self.mean:
            return 3
        return 4 if age < 16 * self.mean else 5

    def opened(self, block, frontier):
        self.blocks[block] = (frontier, self.clock)

    def emptied(self, block):
        frontier, opened = self.blocks.get(block, (None, 0))
        if frontier == 0:
            self.sum += self.clock - opened
            self.count += 1
        if self.count == self.BLOCKS:
            self.mean, self.sum, self.count = self.sum // self.BLOCKS, 0, 0

    def trimmed(self, page):
        self.last.pop(page, None)


class ByHalves(Placement):
    """The first half of the pages apart from the second, told by tables."""

    def start(self, known):
        self.half = known["logical_pages"] // 2
        self.pages = known["logical_pages"]
        self.asked = []

    def learn(self, pages):
        self.asked.append(len(pages))
        if len(self.asked) > 1:
            return None
        table = np.arange(self.pages) >= self.half
        return table, table


class HalvesByPage(Placement):
    def start(self, known):
        self.half = known["logical_pages"] // 2

    def written(self, page, origin):
        return page >= self.half

    def moved(self, page, block):
        return 1 if page is None else page >= self.half


class Threshold(Wear):
    """The least worn closed block moves, if two differ by more than `erases` and a free one is worn more."""

    def __init__(self, erases):
        self.erases = erases

    def next_move(self, blocks, free):
        closed = np.flatnonzero(blocks.valid < NO_VICTIM)
        if not len(closed):
            return None
        erases = blocks.erases
        block = closed[erases[closed].argmin()]
        least = erases[block]
        moves = erases.max() - least > self.erases and (erases[free] > least).any()
        return (block, True) if moves else None


class Lru(Replacement):
    def __init__(self):
        self.pages = OrderedDict()

    def hit(self, page):
        self.pages.move_to_end(page)

    def insert(self, page):
        self.pages[page] = None

    def victim(self):
        return next(iter(self.pages))

    def evicted(self, page):
        del self.pages[page]

    forget = evicted


class Sieve(Replacement):
    """The queue in a dictionary: `before` leads from a page to the next newer one."""

    def __init__(self):
        self.visited = {}
        self.newer, self.older = {}, {}
        self.newest = self.oldest = self.hand = None

    def hit(self, page):
        self.visited[page] = True

    def insert(self, page):
        self.visited[page] = False
        self.older[page], self.newer[page] = self.newest, None
        if self.newest is None:
            self.oldest = page
        else:
            self.newer[self.newest] = page
        self.newest = page

    def victim(self):
        while True:
            if self.hand is None:
                self.hand = self.oldest
            if not self.visited[self.hand]:
                return self.hand
            self.visited[self.hand] = False
            self.hand = self.newer[self.hand]

    def evicted(self, page):
        if self.hand == page:
            self.hand = self.newer[page]
        newer, older = self.newer.pop(page), self.older.pop(page)
        if newer is None:
            self.newest = older
        else:
            self.older[newer] = older
        if older is None:
            self.oldest = newer
        else:
            self.newer[older] = newer
        del self.visited[page]

    forget = evicted


class S3Fifo(Replacement):
    def start(self, known):
        pages = known["pages"]
        self.most_main, self.most_ghosts = pages - int(pages * 0.1), int(pages * 0.9)
        self.small, self.main, self.ghosts = OrderedDict(), OrderedDict(), OrderedDict()
        self.was_ghost = False

    def hit(self, page):
        queue = self.small if page in self.small else self.main
        queue[page] = min(queue[page] + 1, 3)

    def miss(self, page):
        self.was_ghost = page in self.ghosts
        self.ghosts.pop(page, None)

    def insert(self, page):
        (self.main if self.was_ghost else self.small)[page] = 0

    def victim(self):
        if len(self.main) <= self.most_main or not self.main:
            while self.small:
                page, uses = next(iter(self.small.items()))
                if uses == 0:
                    return page
                del self.small[page]
                self.main[page] = 0
        while True:
            page, uses = next(iter(self.main.items()))
            if uses == 0:
                return page
            self.main[page] = uses - 1
            self.main.move_to_end(page)

    def evicted(self, page):
        if page not in self.small:
            del self.main[page]
            return
        del self.small[page]
        if len(self.ghosts) == self.most_ghosts:
            self.ghosts.popitem(last=False)
        self.ghosts[page] = None

    def forget(self, page):
        self.small.pop(page, None)
        self.main.pop(page, None)


class SegmentedLru(Replacement):
    """Entries come protected; the oldest protected one becomes unprotected when there are too many."""

    def start(self, known):
        self.most = known["entries"] * 80 // 100
        self.protected, self.others = OrderedDict(), OrderedDict()

    def hit(self, page):
        self.protected.pop(page, None)
        self.others.pop(page, None)
        self.insert(page)

    def insert(self, page):
        self.protected[page] = None
        if len(self.protected) > self.most:
            self.others[self.protected.popitem(last=False)[0]] = None

    def victim(self):
        return next(iter(self.others or self.protected))

    def evicted(self, page):
        del (self.others if page in self.others else self.protected)[page]
