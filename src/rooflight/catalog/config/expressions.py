"""Regular expressions that a config file brings along, matched in a time that grows with the text and no faster.

Python's `re` backtracks: one line of a hostile file could keep it busy for ever. Here an expression becomes a set of
states that walks over the text once; sets met before are remembered, so a match costs a look-up a character.

Paths of modules are walked in pieces ("model.", "layers.", "17.", "mlp"), and a piece met before costs one look-up: a
model's thousands of paths are made of a few dozen pieces. A glob is an expression too.

Read are: characters, `.`, sets, \\d \\w \\s and their opposites, groups, `|`, `* + ? {m,n}`, `^`, `$` (at the end of
the text), and look-aheads at the front of the whole. Anything else (back references, look-behinds, flags) is refused.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable

import msgspec

LONGEST = 300  # characters; the longest one seen in a published config has 60
MOST_STATES = 400  # one of 60 characters has some 50
_MOST_SETS = 5_000
_MOST_PLACES = 20_000
_STEP = 3  # what a step to states not met before costs, over one to states that were
_DEEPEST = 20
_END = "\x00"  # stands behind the text, for `$`
_MATCHED = frozenset({0})  # the state every pattern leads to; nothing behind it matters

# Where a walk over a text stands: the states of the expression, and of each look-ahead.
Place = tuple[frozenset[int], ...]
NOWHERE: Place = ()  # nothing that follows can match any more
Test = Callable[[str], bool]
# What a state does: a test a character must pass, "split" (either way on), "start" (only at the front) or "match".
_Node = tuple[Test | str, tuple[int, ...]]
_CLASSES: dict[str, Test] = {
    "d": str.isdigit,
    "w": lambda one: one.isalnum() or one == "_",
    "s": str.isspace,
}
_WRITTEN = {"n": "\n", "t": "\t", "r": "\r"}


class Unreadable(ValueError):
    """An expression that is broken, or outside what is read here."""


class Endless(ValueError):
    """Patterns that take too many steps to match."""


class Budget:
    """How many steps walks may take, all of them together."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Raises Endless where there are no more."""
        self.left -= steps
        if self.left < 0:
            raise Endless


@functools.lru_cache(maxsize=512)
def compiled(pattern: str) -> Expression:
    """The expression, ready to match. Raises Unreadable."""
    if len(pattern) > LONGEST:
        raise Unreadable(f"it has {len(pattern)} characters, more than {LONGEST}")
    return _Parser(pattern).expression()


def glob(pattern: str) -> Expression:
    """A pattern of * ? and [sets] for a module's whole name, or that of a module it lies in. Raises Unreadable."""
    if len(pattern) > LONGEST:
        raise Unreadable(f"it has {len(pattern)} characters, more than {LONGEST}")
    return _Parser(_written_out(pattern) + r"(?:\.|$)").expression()


def _written_out(pattern: str) -> str:
    """A glob as an expression, as fnmatch reads it."""
    found, at = "", 0
    while at < len(pattern):
        one, at = pattern[at], at + 1
        end = pattern.find("]", at + 1 + pattern.startswith("!", at)) if one == "[" else -1
        if end > 0:
            inner, at = pattern[at:end].replace("\\", "\\\\"), end + 1
            found += "[" + ("^" + inner[1:] if inner.startswith("!") else re.sub(r"^\^", r"\\^", inner)) + "]"
        else:
            found += {"*": ".*", "?": "."}.get(one) or re.escape(one)
    return re.sub(r"(?:\.\*)+", ".*", found)


class Expression:
    """A pattern that is matched at the front of a text, as re.match does."""

    def __init__(self, nodes: list[_Node], start: int, ahead: list[tuple[bool, int]]) -> None:
        self.nodes = nodes
        self.starts = [(True, start), *ahead]

    def match(self, text: str) -> bool:
        """Whether the text begins with what the pattern means."""
        walk = Walk(self)
        return walk.ends(walk.after(walk.start, text))


class Walk:
    """An expression on its way over many texts that have pieces in common; what it met before it knows."""

    def __init__(self, expression: Expression, budget: Budget | None = None) -> None:
        self.machines = [_Machine(expression.nodes, start) for _, start in expression.starts]
        self.wanted = [wanted for wanted, _ in expression.starts]
        self.budget = budget
        self.known: dict[tuple[Place, str], Place] = {}
        self.decided: Place = tuple(_MATCHED if wanted else frozenset() for wanted in self.wanted)
        self.start = self.seen(tuple(machine.start for machine in self.machines))

    def after(self, place: Place, piece: str) -> Place:
        """Where it stands behind one more piece of text. Raises Endless where the budget is spent."""
        found = self.known.get((place, piece))
        if found is None:
            if not place:
                return NOWHERE
            if self.budget is not None:
                self.budget.spend(_STEP)
            if len(self.known) >= _MOST_PLACES:
                self.known.clear()
            steps = zip(self.machines, place, strict=True)
            found = self.seen(tuple([machine.walked(states, piece, self.budget) for machine, states in steps]))
            self.known[place, piece] = found
        return found

    def seen(self, place: Place) -> Place:
        """The place, or NOWHERE where it is decided that nothing matches."""
        lost = not place[0] or (len(place) > 1 and any(map(_lost, place, self.wanted)))
        return NOWHERE if lost else place

    def ends(self, place: Place) -> bool:
        """Whether a text that ends here matches."""
        last = self.after(place, _END)
        return bool(last) and all(
            (states == _MATCHED) == wanted for states, wanted in zip(last, self.wanted, strict=True)
        )

    def sure(self, place: Place) -> bool:
        """Whether all texts that begin so match."""
        return place == self.decided


def _lost(states: frozenset[int], wanted: bool) -> bool:
    return not states if wanted else states == _MATCHED


class _Row(msgspec.Struct):
    """A set of states: what a character must pass for each of them, the states behind it, and where characters lead."""

    moves: list[tuple[Test, frozenset[int]]]
    known: dict[str, frozenset[int]] = {}


class _Machine:
    """The states of an expression that wait for a character, and the sets of them that were met."""

    def __init__(self, nodes: list[_Node], start: int) -> None:
        self.nodes = nodes
        self.rows: dict[frozenset[int], _Row] = {}
        self.behind: dict[int, frozenset[int]] = {}
        self.start = self.closed((start,), at_start=True)

    def walked(self, states: frozenset[int], text: str, budget: Budget | None) -> frozenset[int]:
        """The states behind a text."""
        if budget is not None:
            budget.spend(len(text) // 4)
        for one in text:
            if not states or states == _MATCHED:
                return states
            row = self.rows.get(states)
            found = None if row is None else row.known.get(one)
            if found is None:
                found = self.step(states, one)
                if budget is not None:
                    budget.spend(_STEP + len(states) + len(found))
            states = found
        return states

    def step(self, states: frozenset[int], one: str) -> frozenset[int]:
        row = self.rows.get(states)
        if row is None:
            if len(self.rows) >= _MOST_SETS:
                self.rows.clear()
            row = self.rows[states] = _Row([self.move(state) for state in states])
        found: set[int] = set()
        for test, further in row.moves:
            if test(one):
                found |= further
        row.known[one] = after = _MATCHED if found & _MATCHED else frozenset(found)
        return after

    def move(self, state: int) -> tuple[Test, frozenset[int]]:
        """What a character must pass, and the states behind it."""
        test, nexts = self.nodes[state]
        assert callable(test)  # closed() keeps no others but the match, which is never walked from
        if state not in self.behind:
            self.behind[state] = self.closed(nexts, at_start=False)
        return test, self.behind[state]

    def closed(self, states: Iterable[int], *, at_start: bool) -> frozenset[int]:
        """The states that wait for a character, from these on; the match alone where it is among them."""
        found, seen, todo = set[int](), set[int](), list(states)
        while todo:
            state = todo.pop()
            if state in seen:
                continue
            seen.add(state)
            test, nexts = self.nodes[state]
            if callable(test):
                found.add(state)
            elif test == "match":
                return _MATCHED
            elif test == "split" or at_start:
                todo.extend(nexts)
        return frozenset(found)


class _Parser:
    """Recursive descent, back to front: each part is built in front of the state that follows it."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.depth = 0
        self.nodes: list[_Node] = [("match", ())]
        self.ahead: list[tuple[bool, int]] = []

    def expression(self) -> Expression:
        """The whole. Raises Unreadable."""
        self.looks_ahead()
        start = self.choice()(0)
        if self.at < len(self.text):
            raise Unreadable("a bracket closes that none opened")
        return Expression(self.nodes, start, self.ahead)

    def add(self, test: Test | str, *nexts: int) -> int:
        if len(self.nodes) >= MOST_STATES:
            raise Unreadable("its repeats are too many")
        self.nodes.append((test, nexts))
        return len(self.nodes) - 1

    def looks_ahead(self) -> None:
        """(?=...) and (?!...) in front of everything else."""
        if self.text.startswith("^(?"):
            self.at = 1
        while self.text.startswith(("(?=", "(?!"), self.at):
            wanted = self.text[self.at + 2] == "="
            self.at += 3
            self.ahead.append((wanted, self.choice()(0)))
            self.expect(")")

    def choice(self) -> Callable[[int], int]:
        """Alternatives, as a function from the state that follows to the state to begin with."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise Unreadable("it is nested too deeply")
        options = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            options.append(self.sequence())
        self.depth -= 1
        if len(options) == 1:
            return options[0]
        return lambda after: self.add("split", *(option(after) for option in options))

    def sequence(self) -> Callable[[int], int]:
        parts: list[Callable[[int], int]] = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.repeated(self.one()))

        def build(after: int) -> int:
            for part in reversed(parts):
                after = part(after)
            return after

        return build

    def one(self) -> Callable[[int], int]:
        """A character, set or group."""
        mark = self.take()
        if mark == "(":
            if self.peek() == "?":
                self.group_kind()
            inner = self.choice()
            self.expect(")")
            return inner
        if mark == "^":
            return lambda after: self.add("start", after)
        if mark == "$":
            return lambda after: self.add(lambda one: one == _END, after)
        if mark in ("*", "+", "?"):
            raise Unreadable("there is nothing to repeat")
        test = self.set() if mark == "[" else self.escaped() if mark == "\\" else _any if mark == "." else _is(mark)
        return lambda after: self.add(test, after)

    def group_kind(self) -> None:
        for opening in ("?:", "?P<"):
            if self.text.startswith(opening, self.at):
                self.at += len(opening)
                if opening == "?P<":
                    self.at = self.text.find(">", self.at) + 1 or len(self.text)
                return
        raise Unreadable(f"({self.text[self.at : self.at + 2]} is not read")

    def repeated(self, part: Callable[[int], int]) -> Callable[[int], int]:
        least, most = self.bounds()
        if (least, most) == (1, 1):
            return part
        self.at += self.peek() == "?"  # lazy or not, the same texts match
        if self.peek() in ("+", "*") or self.bounds() != (1, 1):
            raise Unreadable("a repeat is repeated")

        def build(after: int) -> int:
            if most is None:
                loop = self.add("split", after)
                self.nodes[loop] = ("split", (part(loop), after))
                after = loop
            for _ in range((most or least) - least):
                after = self.add("split", part(after), after)
            for _ in range(least):
                after = part(after)
            return after

        return build

    def bounds(self) -> tuple[int, int | None]:
        """What a mark behind a part says: how often at least, and at most (None: without end)."""
        mark = self.peek()
        if mark in ("*", "+", "?"):
            self.at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[mark]
        end = self.text.find("}", self.at)
        if mark != "{" or end < 0:
            return 1, 1
        least, comma, most = self.text[self.at + 1 : end].partition(",")
        if not (least + most).isdecimal() or max(len(least), len(most)) > 3:
            return 1, 1  # a brace that is no repeat stands for itself
        self.at = end + 1
        low = int(least or 0)
        high = (int(most) if most else None) if comma else low
        if high is not None and high < max(low, 1):
            raise Unreadable("a repeat ends before it begins")
        return low, high

    def set(self) -> Test:
        """The characters between square brackets."""
        wanted = self.peek() != "^"
        self.at += not wanted
        tests: list[Test] = []
        while self.peek() != "]" or not tests:
            first = self.take()
            test = self.escaped() if first == "\\" else _is(first)
            if first != "\\" and self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                test = _between(first, self.take())
            tests.append(test)
        self.at += 1
        return lambda one: one != _END and any(test(one) for test in tests) == wanted

    def escaped(self) -> Test:
        mark = self.take()
        if mark.lower() in _CLASSES:
            test = _CLASSES[mark.lower()]
            return test if mark.islower() else lambda one: one != _END and not test(one)
        if mark.isalnum() and mark not in _WRITTEN:
            raise Unreadable(f"\\{mark} is not read")
        return _is(_WRITTEN.get(mark, mark))

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        mark = self.peek()
        if not mark:
            raise Unreadable("it ends too early")
        self.at += 1
        return mark

    def expect(self, mark: str) -> None:
        if self.take() != mark:
            raise Unreadable(f"{mark} is missing")


def _any(one: str) -> bool:
    return one not in (_END, "\n")


def _is(wanted: str) -> Test:
    return lambda one: one == wanted


def _between(first: str, last: str) -> Test:
    return lambda one: first <= one <= last
