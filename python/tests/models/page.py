"""The page map as the head comment of its source file says it, with greedy victims: writes of whole pages."""

ONE = 1 << 16


class Die:
    def __init__(self, blocks):
        self.free = list(blocks)
        self.frontiers = {}  # "host" and "moved": [block, pages left]
        self.closed = set()
        self.victim = None  # [block, next place, rate, credit]
        self.is_over = False


class Page:
    def __init__(
        self, dies, blocks_per_die, pages_per_block, logical_pages, *, placement="two", reserve_blocks=2
    ):
        self.b, self.reserve, self.logical = pages_per_block, reserve_blocks, logical_pages
        self.moved = "host" if placement == "one" else "moved"
        self.frontiers = 1 if placement == "one" else 2
        self.dies = [Die(range(die * blocks_per_die, (die + 1) * blocks_per_die)) for die in range(dies)]
        self.blocks_per_die = blocks_per_die
        self.turn = 0
        self.map = {}
        self.owner = {}  # block -> the logical page of each place that is valid
        self.programs = self.copies = self.erases = 0

    def write(self, page):
        die = self.next_die()
        state = self.dies[die]
        if self.left(state, "host") == 0:
            self.open_for_host(state)
        self.place(state, "host", page)
        self.programs += 1
        self.collect(state)

    def next_die(self):
        if len(self.dies) == 1:
            return 0
        for _ in self.dies:
            self.turn = (self.turn + 1) % len(self.dies)
            state = self.dies[self.turn]
            if not state.is_over and self.left(state, "host") > 0:
                return self.turn
            if self.below_share(state):
                return self.turn
        room = [self.most_valid() - self.valid_in(state) for state in self.dies]
        return max(range(len(room)), key=lambda die: (room[die], die))

    def below_share(self, state):
        below = self.valid_in(state) <= self.share()
        if below:
            state.is_over = False
        return below

    def valid_in(self, state):
        first = self.dies.index(state) * self.blocks_per_die
        return sum(len(self.owner.get(block, ())) for block in range(first, first + self.blocks_per_die))

    def most_valid(self):
        kept = self.reserve + self.frontiers
        return (self.blocks_per_die - kept) * self.b - 1 - (self.b if len(self.dies) > 1 else 0)

    def share(self):
        part, most = self.logical // len(self.dies), self.most_valid()
        return min(max(part, part // 2 + most // 2), most)

    def left(self, state, which):
        return state.frontiers[which][1] if which in state.frontiers else 0

    def close(self, state, which):
        if which in state.frontiers:
            state.closed.add(state.frontiers.pop(which)[0])

    def open(self, state, which):
        block = state.free.pop(0)
        self.owner[block] = {}
        state.frontiers[which] = [block, self.b]

    def open_for_host(self, state):
        self.close(state, "host")
        while len(state.free) <= 1:
            assert state.victim or self.choose(state)
            self.relocate(state, self.b)
            if self.left(state, "host") == 0:
                self.close(state, "host")
            elif self.has_reserve(state):
                return
        if self.left(state, "host") == 0:
            self.open(state, "host")

    def place(self, state, which, page):
        frontier = state.frontiers[which]
        place = self.b - frontier[1]
        frontier[1] -= 1
        if page in self.map:
            block, old = self.map[page]
            del self.owner[block][old]
        self.map[page] = (frontier[0], place)
        self.owner[frontier[0]][place] = page

    def choose(self, state):
        if not state.closed:
            return False
        block = min(state.closed, key=lambda block: (len(self.owner[block]), block))
        valid = len(self.owner[block])
        if valid == self.b:
            return False
        state.closed.remove(block)
        gained = max(self.b - valid, self.b // 16, 1)
        state.victim = [block, 0, valid * ONE // gained + 1, 0]
        return True

    def collect(self, state):
        if len(state.free) > self.reserve and state.victim is None:
            return
        if state.victim is None and not self.choose(state):
            return
        missing = max(0, self.reserve - len(state.free))
        state.victim[3] += state.victim[2] * (1 + missing)
        pages, state.victim[3] = divmod(state.victim[3], ONE)
        self.relocate(state, pages)
        while not self.has_reserve(state):
            if state.victim is None and not self.choose(state):
                break
            self.relocate(state, self.b)

    def relocate(self, state, pages):
        while state.victim:
            block = state.victim[0]
            rest = [place for place in self.owner[block] if place >= state.victim[1]]
            if not rest:
                state.victim = None
                self.erases += 1
                state.free.append(block)
                return
            if pages == 0:
                return
            pages -= 1
            place = min(rest)
            state.victim[1] = place + 1
            if self.left(state, self.moved) == 0:
                self.close(state, self.moved)
                self.open(state, self.moved)
                if self.moved == "host" and len(self.dies) > 1:
                    state.is_over = self.valid_in(state) > self.share()
            self.place(state, self.moved, self.owner[block][place])
            self.programs += 1
            self.copies += 1

    def has_reserve(self, state):
        room = sum(left for _, left in state.frontiers.values()) + len(state.free) * self.b
        if self.reserve > 1 and room >= self.reserve * self.b:
            return True
        if state.victim is None:
            return room >= self.reserve * self.b
        left = len(self.owner[state.victim[0]])
        return room > left and room + self.b >= left + self.reserve * self.b
