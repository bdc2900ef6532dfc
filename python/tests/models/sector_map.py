"""The sector map as the head comment of its source file says it, its map in memory: writes of sectors."""

from dataclasses import dataclass


@dataclass(eq=False)
class SectorMap:
    dies: int
    blocks_per_die: int
    pages_per_block: int
    sectors_per_page: int
    logical_pages: int
    reserve_blocks: int = 2
    map_spare_percent: int = 100
    rewrite: str = "overwrite"

    def __post_init__(self):
        self.b, self.s, self.gathered = self.pages_per_block, self.sectors_per_page, self.sectors_per_page - 1
        dies, blocks_per_die = self.dies, self.blocks_per_die
        map_pages = -(-self.logical_pages * 4 // 512)
        whole = map_pages // self.b
        spare = min(max(whole * self.map_spare_percent // 100, 1), dies * blocks_per_die)
        quota = whole + 1 + min(max(whole, 1), dies) + spare
        self.kept = [self.reserve_blocks + (quota + dies - 1 - die) // dies for die in range(dies)]
        self.claim = [kept - self.reserve_blocks for kept in self.kept]
        self.free = [list(range(die * blocks_per_die, (die + 1) * blocks_per_die)) for die in range(dies)]
        self.active = [None] * dies  # [block, next page]
        self.closed = [set() for _ in range(dies)]
        self.turn = dies - 1
        self.buffer = []
        self.map = {}  # sector -> (block, page)
        self.pages = {}  # (block, page) -> the sectors of its list
        self.valid = {}
        self.programs = self.reads = self.erases = 0

    def write(self, sector):
        if sector in self.buffer:
            if self.rewrite == "overwrite":
                return
            self.buffer[self.buffer.index(sector)] = None
        self.buffer.append(sector)
        if len(self.buffer) == self.gathered:
            self.program(self.die_for_host(), self.buffer)
            self.buffer = []

    def is_full(self, die):
        return self.active[die] is None or self.active[die][1] == self.b

    def die_for_host(self):
        for _ in self.active:
            self.turn = (self.turn + 1) % len(self.active)
            if not self.is_full(self.turn) or self.gain(self.turn):
                return self.turn
        raise AssertionError

    def gain(self, die):
        while True:
            if not self.is_full(die) and len(self.free[die]) >= self.kept[die]:
                return True
            self.close(die)
            if len(self.free[die]) > self.kept[die]:
                self.open(die)
            elif not self.collect(die):
                return False

    def close(self, die):
        if self.active[die] and self.is_full(die):
            self.closed[die].add(self.active[die][0])
            self.active[die] = None

    def open(self, die):
        block = self.free[die].pop(0)
        self.valid[block] = 0
        self.active[die] = [block, 0]

    def program(self, die, sectors):
        block, page = self.active[die]
        self.active[die][1] += 1
        self.programs += 1
        self.pages[block, page] = list(sectors)
        for sector in sectors:
            if sector is None:
                continue
            if sector in self.map:
                self.valid[self.map[sector][0]] -= 1
            self.map[sector] = (block, page)
            self.valid[block] += 1

    def collect(self, die):
        if not self.closed[die]:
            return False
        victim = min(self.closed[die], key=lambda block: (self.valid[block], block))
        if self.valid[victim] > (self.b - 1) * self.gathered:
            return False
        self.closed[die].remove(victim)
        survivors = []
        for page in range(self.b):
            if len(survivors) == self.valid[victim]:
                break
            self.reads += 1
            listed = self.pages[victim, page]
            survivors += [sector for sector in listed if self.map.get(sector) == (victim, page)]
        for first in range(0, len(survivors), self.gathered):
            if self.is_full(die):
                self.close(die)
                assert len(self.free[die]) > self.claim[die]
                self.open(die)
            self.program(die, survivors[first : first + self.gathered])
        self.erases += 1
        self.free[die].append(victim)
        return True
