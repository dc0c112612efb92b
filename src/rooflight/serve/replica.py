"""One pipeline pass of one replica under a workload: who is in it, what it may take at once, what its steps take."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from rooflight.numeric import Number, capped, is_plain, maximum, minimum
from rooflight.roofline.engine import interval, prompt_engine
from rooflight.scenario.definite import Scenario
from rooflight.serve.drafted import draft_steps
from rooflight.serve.expected import drafted_wider, expected, grouped
from rooflight.serve.formulas import decode_steps, tokens_per_verify
from rooflight.serve.memory import admitted
from rooflight.values.calibration import Engine
from rooflight.values.model import Attention, LatentAttention
from rooflight.values.steptime import Parts, StepTime
from rooflight.work import step as steps

# Seconds of a step in which so many sequences decode (None: none) and so many prompt tokens are prefilled (None).
Clock = Callable[[Number | None, Number | None], Number]
# Seconds of a step of a scenario.
_StepClock = Callable[[Scenario, steps.Step], Number]
# The decode steps of requests that generate one token: too few to count, enough to divide by.
NO_STEPS = 1e-9


class Replica(msgspec.Struct, frozen=True, kw_only=True):
    """A pass of a replica; every number may be an array. Requests are all alike, spread evenly.

    users       requests of the pass, those that wait too; at least 1
    replicas    that have requests; passes: of each, which fill its pipeline
    prompt      tokens that are computed of a prompt; cached: those before them
    steps       decode steps of a request: osl - 1, of drafted tokens fewer; NO_STEPS where there are none. An output
                of 0 is a prompt alone: its first token is its result
    each        tokens that a sequence gets out of a step, and rows that it puts into one
    ends        positions of a prompt that pass the head
    context     tokens cached in the mean over a request's decode steps; contexts: of which there are so many, or 1
                where every layer's cost is a straight line of them
    budget      tokens of a step at most; room: sequences at most, as memory and the engine allow, no whole number
    """

    sc: Scenario
    users: Number
    replicas: Number
    passes: Number
    prompt: Number
    cached: Number
    steps: Number
    each: Number
    rows: Number
    ends: Number
    context: Number
    contexts: Number
    budget: Number
    room: Number

    @property
    def copies(self) -> Number:
        """Passes of all replicas that run at once."""
        return self.replicas * self.passes

    @property
    def busy(self) -> Number:
        """Share of the replicas that have requests."""
        return self.replicas / self.sc.layout.dp

    def with_users(self, users: Number) -> Replica:
        """Another number of requests of the pass."""
        return msgspec.structs.replace(self, users=users)

    @property
    def drafted(self) -> Number:
        """Tokens drafted before each step."""
        return self.sc.workload.draft_tokens

    @property
    def drafts(self) -> bool:
        """Whether anything is drafted."""
        return not is_plain(self.drafted) or self.drafted > 0

    def bounds(
        self, decoding: Number | None, tokens: Number | None, *, overlap: Number = 1, bounds_only: bool = True
    ) -> StepTime:
        """Bounds of a step of this replica, others idle where requests are too few."""
        return self._bounds(self._step(decoding, tokens), overlap, bounds_only)

    def roofline_s(self, decoding: Number | None, tokens: Number | None) -> Number:
        """A step's roofline time, drafting before it."""
        seconds = self._roofline_s(self.sc, self._step(decoding, tokens))
        return seconds + self._drafting_s(decoding, tokens, self._roofline_s) if self.drafts else seconds

    def expected_s(self, decoding: Number | None, tokens: Number | None) -> Number:
        """What is expected of a step, never below its roofline; drafting before it."""
        engine, share = self.sc.engine, 1.0
        if decoding is None:
            engine, share = prompt_engine(engine, routed=self.sc.expert_layers > 0)
        step, sequences = self._step(decoding, tokens), self.sequences(decoding, tokens)
        seconds = self._expected(self.sc, step, sequences, share, engine)
        if decoding is not None and tokens is not None and self.sc.engine.beside_share != 1:
            seconds = self._beside(seconds, step, decoding)
        return seconds + self._drafting_s(decoding, tokens, self._expected) if self.drafts else seconds

    def host_shares(self, decoding: Number | None, tokens: Number | None) -> Shares:
        """Of what is expected of a step, the share that the host's memory and the link to it take, and its ends."""
        step, sequences = self._step(decoding, tokens), self.sequences(decoding, tokens)
        alone = prompt_engine(self.sc.engine, routed=self.sc.expert_layers > 0)[0] if decoding is None else None
        found = expected(self.sc, self.sc.steps.parts(step), sequences=sequences, engine=alone)
        places = found.places_s, found.places_low_s, found.places_high_s
        return Shares(*(seconds / found.seconds for seconds in places))

    def parts(self, decoding: Number | None, tokens: Number | None) -> Parts:
        """What is expected of a step before an engine takes its shares."""
        return self.sc.steps.parts(self._step(decoding, tokens), passes=self.passes)

    def sequences(self, decoding: Number | None, tokens: Number | None) -> Number:
        """Those that a step looks after, by the tokens that they get out of it: decoding, or at a prompt's end."""
        return (0 if decoding is None else decoding * self.each) + (0 if tokens is None else tokens / self.prompt)

    def draft_bounds(
        self, sc: Scenario, decoding: Number | None, tokens: Number | None, *, overlap: Number = 1
    ) -> StepTime:
        """Bounds of a draft step, `sc` one of serve.drafted: a token of each sequence, or prompts for its cache."""
        step = self._draft_step(decoding) if tokens is None else self._prompts(tokens)
        return sc.steps.time(self._real(step), overlap=overlap, bounds_only=True)

    def _step(self, decoding: Number | None, tokens: Number | None) -> steps.Step:
        found = []
        if decoding is not None:
            shape = self._shape(decoding)
            found.append(steps.verify(draft_tokens=self.drafted, **shape) if self.drafts else steps.decode(**shape))
        if tokens is not None:
            found.append(self._prompts(tokens))
        return steps.together(*found)

    def _prompts(self, tokens: Number) -> steps.Step:
        """So many tokens of prompts."""
        return steps.chunked(tokens=tokens, prompt=self.prompt, cached=self.cached, ends=self.ends)

    def _draft_step(self, decoding: Number | None) -> steps.Step:
        """A draft's token for so many sequences."""
        return steps.decode(**self._shape(1 if decoding is None else decoding))

    def _plain(self) -> steps.Step:
        """The step of one sequence without drafts."""
        return steps.decode(**self._shape(1))

    def _shape(self, decoding: Number) -> dict[str, Number]:
        """What so many decoding sequences are like."""
        return {
            "sequences": decoding, "context": self.context, "steps": self.contexts, "source": self.sc.source_tokens,
        }  # fmt: skip

    def _bounds(self, step: steps.Step, overlap: Number = 1, bounds_only: bool = True) -> StepTime:
        return self.sc.steps.time(self._real(step), overlap=overlap, passes=self.passes, bounds_only=bounds_only)

    def _roofline_s(self, sc: Scenario, step: steps.Step) -> Number:
        return sc.steps.roofline_s(self._real(step), passes=self.passes)

    def _real(self, step: steps.Step) -> steps.Step:
        """The step with idle replicas beside."""
        plain = is_plain(self.busy) and self.busy == 1
        return step if plain else msgspec.structs.replace(step, busy=self.busy)

    def _expected(
        self, sc: Scenario, step: steps.Step, sequences: Number = 1, share: float = 1.0, engine: Engine | None = None
    ) -> Number:
        """With all replicas busy, as the engines that were measured were."""
        parts = sc.steps.parts(step, passes=self.passes)
        seconds = expected(sc, parts, sequences=sequences, engine=engine).seconds
        return maximum(seconds * share, self._roofline_s(sc, step))

    def _beside(self, seconds: Number, step: steps.Step, decoding: Number) -> Number:
        """A step that takes so long, with the engine's share of what its prompt tokens add to it."""
        quiet_s = self._expected(self.sc, self._step(decoding, None), self.sequences(decoding, None))
        longer = quiet_s + maximum(seconds - quiet_s, 0) * self.sc.engine.beside_share
        return maximum(longer, self._roofline_s(self.sc, step))

    def _drafting_s(self, decoding: Number | None, tokens: Number | None, clock: _StepClock) -> Number:
        """What drafting takes before a step: a share of the plain step of one sequence, or draft steps of their own.

        A named draft has the prompts pass beside its first step, for a cache of its own.
        """
        named = draft_steps(self.sc, self.drafted)
        if not named:
            plain = 0.0 if decoding is None else clock(self.sc, self._plain())
            return self.drafted * self.sc.workload.draft_share * plain
        first, token = named[0][0], self._draft_step(decoding)
        if decoding is None:
            return 0.0 if tokens is None else clock(first, self._prompts(tokens))
        seconds: Number = sum(count * clock(sc, token) for sc, count in named)
        if tokens is not None:
            seconds = seconds + clock(first, steps.together(token, self._prompts(tokens))) - clock(first, token)
        return seconds

    def prompt_s(self, clock: Clock) -> Number:
        """The prefill of one prompt alone: whole, or in steps of what the budget allows."""
        tokens = minimum(self.prompt, self.budget)
        return self.prompt / tokens * clock(None, tokens)

    def request_s(self, clock: Clock, server_s: Number) -> Number:
        """One user alone, from end to end."""
        return server_s + self.prompt_s(clock) + self.steps * clock(1, None)


def replica(sc: Scenario, users: Number | None = None) -> Replica:
    """The scenario's replicas under so many requests in all (None: its batch)."""
    load, layout = sc.workload, sc.layout
    users = load.batch if users is None else users
    replicas = capped(users, layout.dp)
    of_one = users / replicas
    held = room(sc)
    passes = minimum(capped(of_one, layout.pp), maximum(1, held))
    each = tokens_per_verify(draft_tokens=load.draft_tokens, acceptance=load.acceptance)
    rows = load.draft_tokens + 1
    tokens = decode_steps(load.osl)
    contexts = maximum(tokens, 1)
    return Replica(
        sc=sc, users=of_one / passes, replicas=replicas, passes=passes,
        prompt=maximum(load.isl - load.cached_prefix, 1), cached=load.cached_prefix,
        steps=maximum(tokens, NO_STEPS) / each, each=each, rows=rows, ends=steps.prompt_ends(sc.model, load.osl),
        context=load.mean_context, contexts=contexts if bends(sc) else 1,
        budget=maximum(sc.budget_tokens, rows + 1), room=maximum(held / passes, 1),
    )  # fmt: skip


def bends(sc: Scenario) -> bool:
    """Whether some layer's cost is no straight line of the context: windows, chunks, sparse picks."""
    mixers = (layer.mixer for layer in sc.model.layers)
    reaches = [mixer.reach for mixer in mixers if isinstance(mixer, Attention | LatentAttention)]
    return any(reach.window or reach.chunk or reach.top_k or reach.stride > 1 for reach in reaches)


def room(sc: Scenario) -> Number:
    """Sequences that one replica runs at once at most, as memory and the engine's limit allow; no whole number."""
    most = float("inf") if sc.most_sequences is None else sc.most_sequences
    return most if sc.deployment.ignore_capacity else minimum(admitted(sc), most)


def step_interval(sc: Scenario, requests: Number) -> tuple[Number, Number]:
    """Factors on expected steps that hold eight of ten measurements, of so many requests of a replica."""
    wider = drafted_wider(sc)
    low, high = interval(sc.engine, "moe_" if sc.expert_layers else "", requests)
    return low / wider * grouped(sc), high * wider


class Shares(NamedTuple):
    """Of an expected time, what the host takes, and the ends of the interval of that."""

    middle: Number
    low: Number
    high: Number

    def beside(self, low: Number, high: Number) -> tuple[Number, Number]:
        """Factors on the whole time, from those of an engine on the rest of it."""
        return low * (1 - self.middle) + self.low, high * (1 - self.middle) + self.high

    def joined(self, other: Shares, part: Number) -> Shares:
        """Of a time of which the other's is a part."""
        return Shares(*(one * (1 - part) + its * part for one, its in zip(self, other, strict=True)))
