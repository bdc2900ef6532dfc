"""Some claims of a paper by themselves, and whether they rest on what its file assumes."""

import dataclasses
from dataclasses import dataclass, field

from nandlab.reproduce import parse, reproduce
from nandlab.reproduce.words import Why


@dataclass(frozen=True)
class Paper:
    """A paper by the `text` of its file, and changes of the text that change verdicts.

    A change is what stands there, what takes its place, and the verdicts of the claims that rest on it,
    which hold before the change.
    """

    name: str
    text: str
    mutations: dict[str, tuple[str, str, dict[str, str]]] = field(default_factory=dict)

    def reproduced(self, ids, text=None, seeds=1, **kept):
        """Claims `ids` alone, without figures and tables but those `kept`."""
        # Reasons and notes take runs of their own.
        paper = parse(text or self.text, self.name, f"{self.name}.toml")
        claims = tuple(claim for claim in paper.claims if claim.id in ids)
        assert len(claims) == len(ids)
        bare = tuple(dataclasses.replace(claim, note=Why("", ()), why=Why("", ())) for claim in claims)
        none = dict.fromkeys(("figures", "grids", "timelines", "op_figures", "block_maps", "conclusions"), ())
        return reproduce(dataclasses.replace(paper, claims=bare, **{**none, **kept}), seeds)

    def claims(self, ids, text=None, seeds=1):
        """Claims by their ids, with what was measured and the verdict."""
        return {each.claim.id: each for each in self.reproduced(ids, text, seeds).claims}

    def verdicts(self, ids, text=None, seeds=1):
        """Verdicts by the ids of claims."""
        return {name: each.verdict for name, each in self.claims(ids, text, seeds).items()}

    def unchanged(self, seeds=1):
        """Verdicts of every claim that a mutation names, before it."""
        return self.verdicts({name for _, _, named in self.mutations.values() for name in named}, seeds=seeds)

    def assert_matters(self, mutation, unchanged, held=("reproduced",), seeds=1):
        """This mutation changes the verdicts that it names, which are one of `held` before it."""
        old, new, named = self.mutations[mutation]
        assert old in self.text
        assert {unchanged[name] for name in named} <= set(held)
        assert self.verdicts(named, self.text.replace(old, new), seeds) == named
