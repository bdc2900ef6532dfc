"""Some paper claims by themselves, and whether they rest on its file's assumptions."""

import dataclasses
from dataclasses import dataclass, field

from nandlab.reproduce import parse, reproduce
from nandlab.reproduce.words import Why


@dataclass(frozen=True)
class Paper:
    """A paper by its file's `text`, and changes to the text that change verdicts.

    A change is the old text, the new text, and the claims' new verdicts;
    before the change these claims hold.
    """

    name: str
    text: str
    mutations: dict[str, tuple[str, str, dict[str, str]]] = field(default_factory=dict)

    def reproduced(self, ids, text=None, seeds=1, **kept):
        """Claims `ids` alone, without figures and tables but those `kept`."""
        # Reasons and notes need their own runs.
        paper = parse(text or self.text, self.name, f"{self.name}.toml")
        claims = tuple(claim for claim in paper.claims if claim.id in ids)
        assert len(claims) == len(ids)
        bare = tuple(dataclasses.replace(claim, note=Why("", ()), why=Why("", ())) for claim in claims)
        none = dict.fromkeys(("figures", "grids", "timelines", "op_figures", "block_maps", "conclusions"), ())
        return reproduce(dataclasses.replace(paper, claims=bare, **{**none, **kept}), seeds)

    def claims(self, ids, text=None, seeds=1):
        """Claims by their ids, with measured value and verdict."""
        return {each.claim.id: each for each in self.reproduced(ids, text, seeds).claims}

    def verdicts(self, ids, text=None, seeds=1):
        """Verdicts by claim id."""
        return {name: each.verdict for name, each in self.claims(ids, text, seeds).items()}

    def unchanged(self, seeds=1):
        """Verdicts on all claims named by mutations, before any mutation."""
        return self.verdicts({name for _, _, named in self.mutations.values() for name in named}, seeds=seeds)

    def assert_matters(self, mutation, unchanged, held=("reproduced",), seeds=1):
        """This mutation changes the verdicts it names; before it, each is in `held`."""
        old, new, named = self.mutations[mutation]
        assert old in self.text
        assert {unchanged[name] for name in named} <= set(held)
        assert self.verdicts(named, self.text.replace(old, new), seeds) == named
