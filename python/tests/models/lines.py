"""The collection of FEMU and NVMeVirt, read in their sources: writes of one page, counts without times.

Both have lines, a block of each die, and empty the one with the fewest valid pages. FEMU
(hw/femu/bbssd/ftl.c, at 68032f3) fills one line with pages of the host and moved pages. Before a write it
empties lines while few are free. After each request it empties one more, if not many are free and an eighth
of it is invalid. NVMeVirt (conv_ftl.c) has a line for each kind, and looks whenever the host has written as
many pages as the last victim gained.
"""

from collections import deque


class Lines:
    """Lines of a drive, which pages they hold, and how many of them are valid."""

    def __init__(self, lines, pages_per_line, kinds):
        self.size, self.lines = pages_per_line, lines
        self.free = deque(range(lines))
        self.valid = [0] * lines
        self.content = [[] for _ in range(lines)]
        self.closed = set()
        self.where = {}
        self.open = [self.free.popleft() for _ in range(kinds)]
        self.programs = 0

    def put(self, page, kind):
        if page in self.where:
            self.valid[self.where[page]] -= 1
        line = self.open[kind]
        self.where[page] = line
        self.valid[line] += 1
        self.content[line].append(page)
        self.programs += 1
        if len(self.content[line]) == self.size:
            self.closed.add(line)
            self.open[kind] = self.free.popleft()

    def victim(self, invalid):
        """The closed line with the fewest valid pages, unless it has fewer invalid ones."""
        victim = min(self.closed, key=lambda line: (self.valid[line], line), default=None)
        if victim is None or self.size - self.valid[victim] < max(1, invalid):
            return None
        return victim

    def empty(self, victim, kind):
        """Moves a line's valid pages and erases it; returns what was gained."""
        self.closed.remove(victim)
        pages, self.content[victim] = self.content[victim], []
        # A page that was written twice into the same line stands there twice, and once validly.
        last = {page: at for at, page in enumerate(pages) if self.where[page] == victim}
        gained = self.size - self.valid[victim]
        for page in sorted(last, key=last.__getitem__):
            self.put(page, kind)
        self.free.append(victim)
        return gained


class Femu(Lines):
    """A drive of `femu_mode=1`."""

    def __init__(self, lines, pages_per_line, *, background, high):
        super().__init__(lines, pages_per_line, 1)
        self.background, self.high = background, high

    def write(self, page):
        while len(self.free) <= self.high:
            victim = self.victim(0)
            if victim is None:
                break
            self.empty(victim, 0)
        self.put(page, 0)
        if len(self.free) <= self.background:
            victim = self.victim(self.size // 8)
            if victim is not None:
                self.empty(victim, 0)


class Nvmevirt(Lines):
    """A drive with one partition."""

    def __init__(self, lines, pages_per_line):
        super().__init__(lines, pages_per_line, 2)
        self.credits = self.refill = pages_per_line

    def write(self, page):
        self.put(page, 0)
        self.credits -= 1
        if self.credits <= 0:
            if len(self.free) <= 2:
                victim = self.victim(0)
                if victim is not None:
                    self.refill = self.empty(victim, 1)
            self.credits += self.refill
