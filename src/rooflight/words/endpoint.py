"""A load on an endpoint in words: the sentence, each figure beside the run, and what else there is to know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

import msgspec

from rooflight.answers.check.endpoint import METRICS, Judgement, means
from rooflight.answers.check.outcome import Judged, NoCeiling
from rooflight.errors import Named, NoAnswer, printable
from rooflight.scenario.assume import file_notes
from rooflight.serve.metrics import all_devices
from rooflight.units import round_significant, scaled, to_base
from rooflight.values.endpoint import Beside, Driven, EndpointReport, Figures, Load, Sent
from rooflight.words.notes import worded
from rooflight.words.verdicts import verdict

# As a person names a fault; that of an HTTP answer goes by its status.
_FAULTS = {
    "unreachable": "nobody there", "tls": "TLS", "redirect": "a redirect", "content-type": "no stream of events",
    "broken": "broken chunks", "error": "an error in the stream", "truncated": "cut short", "timeout": "timed out",
    "empty": "no token", "unfinished": "cut off by the interrupt",
}  # fmt: skip
_REFUSED = {
    "ignore_eos": "so an answer may end before the asked length", "min_tokens": "so an answer may be shorter",
    "stream_options": "so it counts no tokens in a stream",
}  # fmt: skip
_TRY = {
    "unreachable": "is the server running, and is this its address and port?",
    "tls": "http:// in place of https://, or the host's own name, which its certificate is for",
    "http": "{served_model}, {api} chat, or shorter {isl} and {osl}, as the server's message says",
    "redirect": "the address that it leads to, if you trust it",
    "content-type": "the address of an OpenAI-compatible server: http://HOST:PORT or http://HOST:PORT/v1",
    "timeout": "a longer {timeout_s}, or fewer requests at once",
}  # fmt: skip
_AUTHORISATION = (401, 403)
_TOO_MANY = 429
_MS = to_base(1, "ms")
# What a client's own delays may be before they are worth a word.
_LATE_S = 10 * _MS
# Share of a prompt; a token that begins every prompt is no hit.
_CACHED = 0.01


def told(driven: Driven, found: Figures, judgement: Judgement | None = None) -> EndpointReport:
    """The report on a load; judgement: its figures beside the run of a named model and machine."""
    report = EndpointReport(
        answer=_answer(driven, found, judgement), url=driven.url, api=driven.api, served_model=driven.model,
        engine=driven.engine, start=driven.start, interrupted=driven.interrupted, load=driven.load, figures=found,
        notes=tuple(_notes(driven, found, judgement)), requests=driven.sent,
    )  # fmt: skip
    if judgement is None:
        return report
    sc = judgement.scenario
    cut, asked = sc.layout, sc.deployment
    return msgspec.structs.replace(
        report, model=sc.model.id, accelerator=sc.accelerator.id, measured=sc.accelerator.measured is not None,
        gpus=all_devices(sc), tp=cut.tp, pp=cut.pp, ep=cut.ep, dp=cut.dp, weights=asked.weights,
        kv_cache=asked.kv_cache, compute=asked.compute, engine=asked.engine or driven.engine,
        engine_version=asked.engine_version, run=judgement.run,
        beside=tuple(_beside(found, judgement)),
        assumptions=worded([*file_notes(sc.model.warnings), *sc.assumptions]),
    )  # fmt: skip


def no_answer(report: EndpointReport) -> NoAnswer:
    """The error for a load of which nothing was answered whole."""
    faults = [one for one in report.requests if not one.ok and one.outcome != "unfinished"]
    one = (faults or list(report.requests))[-1]
    hint = _TRY.get(one.outcome, "one request by hand, as curl sends it, to see what comes back")
    if one.status in _AUTHORISATION:
        hint = "{api_key_env} NAME of the variable that holds the key"
    elif one.status == _TOO_MANY:
        hint = "fewer requests at once ({batch}), or a lower {request_rate}"
    elif one.status is not None and one.status >= 500:
        hint = "the server's own log, which says why it failed"
    sent = sum(one.stage == "load" for one in report.requests)
    what = f"none of {sent:,} requests was answered" if sent else "no load was sent: the first request was not answered"
    return NoAnswer(
        f"{what}: {faulty(faults)}" if faults else what, where=report.url, got=one.why or one.outcome,
        want="an OpenAI-compatible server that streams its answer", try_this=Named(hint),
    )  # fmt: skip


def faulty(faults: Iterable[Sent]) -> str:
    """Faults counted by their kind: 3 x HTTP 503, 1 x timed out."""
    counts = Counter(
        f"HTTP {one.status}" if one.outcome == "http" else _FAULTS[one.outcome] for one in faults if not one.ok
    )
    return ", ".join(f"{count:,} x {kind}" for kind, count in counts.most_common())


def arrival(load: Load) -> str:
    """How requests arrive."""
    if load.burst:
        return "all at once"
    if load.request_rate is not None:
        how = "" if load.burstiness == 1 else f", burstiness {load.burstiness:g}"
        return f"{load.request_rate:g} arriving a second{how}"
    return f"{min(load.concurrency or 1, load.num_prompts):,} in flight"


def _answer(driven: Driven, found: Figures, judgement: Judgement | None) -> str:
    where = printable(urlsplit(driven.url).netloc)
    if not found.answered:
        faults = [one for one in driven.sent if not one.ok]
        sent = f"of {found.requests:,} requests" if found.requests else "before any load was sent"
        return f"{where} answered nothing {sent}: {faulty(faults) or 'interrupted'}."
    failed = found.requests - found.answered
    lost = f" ({faulty(driven.loaded)})" if failed else ""
    seen = _three(means(found))
    said = f"{where} answered {found.answered:,} of {found.requests:,} requests{lost}, {arrival(driven.load)}: {seen}"
    if judgement is None:
        return f"{said}."
    sc = judgement.scenario
    if judgement.run is None:
        return f"{said}; {judgement.endless or f'{sc.model.id} does not fit on {sc.devices}'}."
    expected = {
        name: span.expected for name in METRICS if (span := judgement.run.spans.get(name)) is not None
    }  # fmt: skip
    impossible = sum(one.verdict == "impossible" for one in judgement.judged.values())
    beyond = "; what was measured is faster than that machine can be with that model" if impossible else ""
    return f"{said}. Expected of {sc.model.id} on {sc.devices}: {_three(expected)}{beyond}."


def _three(values: dict[str, float]) -> str:
    """First token, later tokens, and all output a second, those that are there."""
    words = [
        f"{scaled(values['ttft_s'], 's')} to the first token" if "ttft_s" in values else "",
        f"{scaled(values['tpot_s'], 's')} a token after it" if "tpot_s" in values else "",
        f"{round_significant(values['output_tokens_per_s'])} output tok/s" if "output_tokens_per_s" in values else "",
    ]
    return ", ".join(filter(None, words))


def _beside(found: Figures, judgement: Judgement) -> Iterator[Beside]:
    measured = means(found)
    for name, one in judgement.judged.items():
        said, unit = verdict(one), METRICS[name][1]
        span = None if isinstance(one, NoCeiling) else one.span * unit
        expects = isinstance(one, Judged) and one.span.low is not None
        yield Beside(
            figure=name, measured=measured[name], ceiling=None if span is None else span.ceiling,
            roofline=None if span is None else span.roofline,
            expected=span.expected if span is not None and expects else None,
            low=None if span is None else span.low, high=None if span is None else span.high,
            over_ceiling=said.over_ceiling, verdict=said.verdict, reason=said.reason,
        )  # fmt: skip


def _notes(driven: Driven, found: Figures, judgement: Judgement | None) -> Iterator[str]:
    load = driven.load
    if driven.interrupted:
        yield "an interrupt ended it: figures are of what was answered until then"
    faults = [one for one in driven.sent if not one.ok]
    for why, count in Counter(f"{one.stage}: {one.why}" for one in faults if one.why).most_common(8):
        yield f"{count:,} x {why}"
    if faults and found.answered:
        yield "requests that failed are in no figure, their time is in the rates"
    if found.answered:
        yield from _settled(driven, found)
        yield from _lengths(driven, found)
    if found.late_s > _LATE_S:
        yield f"requests were sent up to {scaled(found.late_s, 's')} later than they were due: this machine was busy"
    if load.duration_s is not None and len(driven.loaded) < load.num_prompts and not driven.interrupted:
        yield f"no more were sent after {load.duration_s:g} s; those in flight ended by themselves"
    yield from _goodput(found, load)
    if judgement is not None:
        yield from _predicted(driven, judgement)


def _goodput(found: Figures, load: Load) -> Iterator[str]:
    goals = {"TTFT": load.ttft_slo_s, "TPOT": load.tpot_slo_s}
    kept = " and ".join(f"{name} within {scaled(most, 's')}" for name, most in goals.items() if most is not None)
    if found.good is not None:
        yield f"goodput counts requests with {kept}: {found.good:,} of {found.requests:,}"
    if found.untold:
        left = "goodput cannot be told" if found.good is None else "goodput leaves them out"
        yield f"{found.untold:,} answers do not show the time between their tokens, as in one chunk: {left}"


def _settled(driven: Driven, found: Figures) -> Iterator[str]:
    stages = Counter(one.stage for one in driven.sent)
    before, warm = stages["calibration"] + stages["warm-up"], stages["warm-up"]
    plural = "s" * (before > 1)
    yield f"before the load: {before:,} request{plural} that count in no figure, {warm:,} of them to warm up"
    for name in driven.refused:
        yield f"the server refuses {name}, {_REFUSED[name]}: asked without"
    asked, most = driven.load.concurrency or 0, driven.load.num_prompts
    if asked > most:
        yield f"at most {most:,} in flight, all there are: {asked:,} were asked for"
    if driven.lingers:
        yield "the server keeps connections open after [DONE]: requests open new ones, and their times hold that"
    yield f"prompts are {driven.words:,} random words (seed {driven.load.seed}), no two with a common prefix"
    if driven.astray:
        seen = " and ".join(f"{tokens:,} for {words:,} words" for words, tokens in driven.astray)
        yield (
            f"the server's count of prompt tokens does not follow the prompt ({seen}), as where it cuts prompts or "
            f"counts only what is not cached: {driven.words:,} words are taken as {driven.load.isl:,} tokens"
        )
    elif found.isl is None:
        yield f"the server does not count prompt tokens: {driven.words:,} words are taken as {driven.load.isl:,} tokens"


def _lengths(driven: Driven, found: Figures) -> Iterator[str]:
    load = driven.load
    if found.isl is not None:
        yield f"prompts have {found.isl:,.1f} tokens in the mean, as the server counts them ({load.isl:,} asked for)"
    wrong = Counter(one.disbelieved for one in driven.loaded if one.ok and one.disbelieved is not None)
    if wrong:
        (said, _), count = wrong.most_common(1)[0], wrong.total()
        yield (
            f"the server's count of output tokens cannot be one in {count:,} answers (most often {said:,}, where "
            f"{load.osl:,} were asked for and chunks held some): each of their chunks is taken as one"
        )
    elif found.tokens_a_chunk is None:
        yield "the server does not count output tokens: each chunk is taken as one"
    elif found.tokens_a_chunk > 1.02:
        yield (
            f"a chunk holds {found.tokens_a_chunk:.2f} tokens in the mean: ITL is between chunks, TPOT between tokens"
        )
    elif found.tokens_a_chunk < 0.98:
        chunks = 1 / found.tokens_a_chunk
        yield f"a token comes in {chunks:.2f} chunks in the mean, by the server's count: ITL is between chunks"
    if found.osl is not None and round(found.osl) != load.osl:
        yield f"answers have {found.osl:,.1f} tokens in the mean ({load.osl:,} asked for)"
    if found.cached and found.cached > _CACHED * load.isl:
        yield f"{found.cached:,.0f} tokens of a prompt in the mean were in the server's prefix cache"


def _predicted(driven: Driven, judgement: Judgement) -> Iterator[str]:
    sc, load = judgement.scenario, judgement.scenario.workload
    yield f"the run is predicted for {load.isl:,} tokens in and {load.osl:,} out, the lengths that were seen"
    if sc.deployment.engine is not None and driven.engine == sc.deployment.engine:
        yield f"engine {driven.engine}: as the server says"
    if not driven.listed:
        yield f"the server does not say which model it is: {sc.model.id} is taken on trust"
    elif driven.model != sc.model.id:
        yield f"the server calls its model {printable(driven.model)}: that it is {sc.model.id} is taken on trust"
