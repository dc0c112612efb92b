"""Assumptions and warnings in words: one function a key."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rooflight.catalog.calibration import engine_id, engines
from rooflight.units import percent, scaled, several
from rooflight.values.note import Note
from rooflight.words import machines
from rooflight.words.drafts import DRAFTS
from rooflight.words.own import OWN
from rooflight.words.row_notes import ROW_WORDS

# Cards named of those that an engine was fitted on.
_CARDS = 3

# What a run is, by its schedule.
_RUNS = {
    "alone": "one user alone",
    "batch": "a batch that starts together, all prompts first",
    "served": "continuous batching in its steady state, prompts beside decode steps",
    "apart": "prefill and decode on workers of their own",
}


def worded(notes: Iterable[Note]) -> tuple[str, ...]:
    """Each note once, in order."""
    return tuple(dict.fromkeys(sentence(note) for note in notes))


def sentence(note: Note) -> str:
    """A note in words."""
    return _WORDS[note.key](note)


def _default(note: Note) -> str:
    return f"{note.key.replace('_', '-')} {note.value}: the default"


def _tables(note: Note) -> str:
    head, table, vectors = note.value
    if head == table == vectors:
        return f"{note.why} applies to the linear layers; tables, lm_head, norms and router keep {vectors}"
    return f"a {note.why} file keeps its lm_head in {head}, its input table in {table}, norms and router in {vectors}"


def _kv_cache(note: Note) -> str:
    own = f"; the checkpoint asks for {note.why}: --kv-cache {note.why}" if note.why else ""
    return f"KV cache {note.value}{own}"


def _engine(note: Note) -> str:
    if note.value is None:
        return "expected times are the mean of the serving engines vLLM, SGLang and TensorRT-LLM"
    name, era, cards, backend = note.value
    of_one_time = len({one.era for one in engines(engine_id(name))}) == 1  # then its era tells no versions apart
    runs = (
        "served runs of 2025"
        if era == "2025"
        else "offline runs" + ("" if of_one_time else ", most of them of 2024 and before")
    )
    named = ", ".join(cards[:_CARDS]) + (f" and {more} more" if (more := len(cards) - _CARDS) > 0 else "")
    seen = "" if note.why in cards else f", not on {note.why}"
    told = f"{name} ({backend})" if backend else name
    return f"expected times of {told} were fitted to {runs}, on {named}{seen}"


def _own_tables(note: Note) -> str:
    date, aside = note.value
    told = f"expected times are those of torch's kernels as timed on {note.why} ({date[:10]})"
    if not aside.n:
        return told
    return f"{told}; between the timed sizes they are off by {aside.median:.1%} in the median of {aside.n} tries"


def _kernel_fits(note: Note) -> str:
    parent, widened = note.value
    wide = "" if widened == 1 else f", with intervals {widened:g} times as wide"
    return f"expected times of {note.why} take the kernel fits of {parent}{wide}: none of its own were measured"


def _read_as(note: Note) -> str:
    chosen, name, others = note.value
    more = f"; others: {', '.join(others)}" if others else ""
    return f"{note.why} read as {chosen} ({name}){more}"


def _what_if(note: Note) -> str:
    bandwidth, peaks = note.value
    return f"what if: {note.why} with {bandwidth:g} times its memory bandwidth and {peaks:g} times its peaks"


def _beyond_the_model(note: Note) -> str:
    tokens, most = note.value
    return f"{tokens:,} tokens exceed the {most:,} that {note.why} was made for; computed anyway"


def _adapters(note: Note) -> str:
    count, rank, modules = note.value
    on = ", ".join(modules) if modules else "every matrix of attention and of dense and shared feed-forwards"
    resident = "one LoRA adapter" if count == 1 else f"{count:,} LoRA adapters, which sequences use alike,"
    least = "" if count == 1 else "; the ceiling reckons with all sequences on one"
    return f"{resident} of rank {rank} on {on}, in 16 bits, {'is' if count == 1 else 'are'} resident{least}"


_WORDS: dict[str, Callable[[Note], str]] = {
    **DRAFTS,
    **OWN,
    **ROW_WORDS,
    # value: what a reader found in a model's files, in its words
    "file": lambda note: str(note.value),
    # value: (id, name, ids it may also mean); why: as it was named
    "read_as": _read_as,
    # value: devices of the package; why: the accelerator's id, here and below
    "package": lambda note: (
        f"{note.why} is one of the {note.value} devices of its package: printed figures are divided"
    ),
    # value: (bytes the driver reports, how that is known, bytes a program is given, how that is known)
    "memory_total": machines.memory_total,
    # value: (device, date, command, whether it is complete); why: the accelerator's id
    "measured": machines.measured,
    # value: (device that was measured, names of those here); why: the accelerator's id
    "elsewhere": machines.elsewhere,
    # value: (what, name, spread) of each rate; why: the accelerator's id
    "unsteady": machines.unsteady,
    # value: (fields, formats of peaks); why: the datasheet's id
    "from_datasheet": machines.from_datasheet,
    # value: compute units (of what was measured, of the datasheet); why: the datasheet's id
    "part_of": machines.part_of,
    # value: formats that products run in
    "no_peak": machines.no_peak,
    # value: formats
    "vector_peak": lambda note: (
        f"peaks of {note.why} in {', '.join(note.value)} are its vector units': no faster dense one is published"
    ),
    # value: ((what it is, figures as (number, unit, source)) ..., why one is doubted)
    "in_conflict": machines.in_conflict,
    "confidence": lambda note: (
        f"figures of {note.why} are uncertain: one source, derived or only announced (confidence {note.value})"
    ),
    # value: (times the bandwidth, times the peaks)
    "what_if": _what_if,
    # value: the number taken
    "batch": _default,
    "prefill_batch": _default,
    "isl": _default,
    "osl": _default,
    "tokens_of_none": lambda note: (
        f"{note.why} has no vocabulary head and puts out no tokens: decode steps are counted as asked for; osl 0 is "
        "what it does"
    ),
    # value: by how much intervals are wider; why: the kind of model
    "unfitted_kind": lambda note: (
        f"engines' fits are of decoders, none is of an {note.why}: expected intervals are {note.value:g} times wider "
        "at both ends"
    ),
    "longest_prompt": lambda note: f"isl {note.value:,}: as many as {note.why} was made for",
    "no_tokens": lambda note: f"{note.why} puts out no tokens: osl 0, and the times are the prefill's",
    "context": lambda note: f"decode context isl + osl / 2 - 1 tokens, {note.why}",
    "mixed": lambda _: "mixed: one prompt's chunk beside each decode step, half of that prompt cached before it",
    # value: (images, seconds of sound, tokens)
    "media": lambda note: (
        " and ".join(
            said
            for given, said in (
                (note.value[0], f"images {note.value[0]}"),
                (note.value[1], f"{note.value[1] or 0:g} s of sound"),
            )
            if given
        )
        + f" are {note.value[2]:,} tokens of every prompt, by the rule of the model's processor as published; they "
        "stand behind any cached prefix"
    ),
    # value: a factor
    "encoder": lambda note: (
        "no measurement has seen an image or audio encoder: its kernels are taken to be as good as the language "
        f"model's, and intervals of prompts are {note.value:g} times as wide each way; its work is shared evenly by "
        "the tensor ranks"
    ),
    # value: a format; why: "config", or the format it stands in for
    # ... or "size"
    "weights": lambda note: (
        f"weights {note.value}: a size says nothing of their format"
        if note.why == "size"
        else f"weights as the config says: {note.value}"
    ),
    "requantised": lambda note: f"{note.value} weights in place of the config's own {note.why}",
    # value: (bytes, bytes by the formats); why: the format they are counted in
    "weight_bytes": lambda note: (
        f"weights of {note.value[0]:,.0f} bytes in all, as stated: those of {note.why}, {note.value[1]:,.0f} bytes, "
        f"all scaled by {note.value[0] / note.value[1]:.4g}"
    ),
    # value: a file's name; why: the engine
    "engine_file": lambda note: f"weights as in the usual file for {note.why}: {note.value}",
    # value: a format; why: the file's name
    "native_experts": lambda note: (
        f"the experts stay {note.value}, as they were trained: {note.why} is what the rest of the file is in"
    ),
    # value: (part, bits a weight) of each part; why: the weights' format
    "part_bits": lambda note: (
        "bits a weight by part, scales included: " + ", ".join(f"{part} {bits:.3g}" for part, bits in note.value)
    ),
    # value: formats of (lm_head, input table, vectors); why: the weights' format
    "tables": _tables,
    "activations": lambda note: (
        f"activations {note.value}, narrower only where the weight format brings it (W8A8, W4A4)"
    ),
    # value: a format; why: the one the checkpoint asks for
    "kv_cache": _kv_cache,
    # value: (format asked for, format used); why: the accelerator's id
    "no_path": machines.no_path,
    # value: ("graph" or "eager", seconds a kernel); why: the family
    "launch": machines.launch,
    # the same of a machine on which it was timed; why: the accelerator's id
    "call": machines.call,
    "attention": lambda note: f"attention {note.value}",
    # value: (what it is of, share); why: the engine, "" for none
    "memory_share": machines.memory_share,
    # value: bytes a device
    "reserve": lambda note: f"an engine reserve of {scaled(note.value, 'B')} a device",
    # value: (engine, version); why: the source
    "engine_memory": machines.engine_memory,
    # why: the engine
    "first_start": lambda note: (
        f"a first start of {note.why} on ROCm, which compiles its kernels while it measures, leaves 0.6 to 3.3 GB a "
        "device less than later ones"
    ),
    # why: the accelerator's id
    "no_memory_size": lambda note: (
        f"no source has the memory size of {note.why}, so whether all of it fits cannot be told: --memory says it"
    ),
    # value: how far the clock may carry a peak, None where its maximum is known; why: the accelerator's id
    "clock": machines.clock,
    # value: bytes; why: the family
    "last_level_cache": lambda note: f"last-level cache {scaled(note.value, 'B')}, assumed for {note.why}",
    # value: (entry, GB, all sizes it is known in, whether this one was refitted by others); why: the name asked for
    "variant": machines.variant,
    # value: (GB, other sizes sold); why: the accelerator's id
    "default_size": machines.default_size,
    "sockets": lambda _: (
        "sockets of one machine: their bandwidths add where each one's threads read memory of their own (NUMA); what "
        "joins them has no published rate here, and PCIe stands in"
    ),
    "link": lambda _: "devices joined by PCIe: no other link is known",
    # value: a link; why: the accelerator's id
    "unrated_link": lambda note: f"{note.why} may have {note.value}, whose rate no source gives: PCIe is taken",
    # why: the accelerator's id
    "no_peer_to_peer": lambda note: f"{note.why} reaches no other over PCIe but through the host's memory",
    # value: devices; why: the link
    "no_domain": lambda note: f"no source says how many devices {note.why} joins: taken as all {note.value}",
    # value: bytes a second (of the reference node, of the fastest known), whether a source names it; why: the id
    "network": machines.network,
    "host_rate": lambda note: (
        f"the host's memory gives {scaled(note.value[0], 'B/s')}, in a ceiling {scaled(note.value[1], 'B/s')}: "
        f"{note.why}; --host-cpu or --host-memory-bandwidth says otherwise"
    ),
    "host_compute": lambda note: (
        f"the host multiplies at {scaled(note.value, 'FLOP/s')}, in a ceiling for nothing: no CPU is named (--host-cpu)"
    ),
    "host_size": lambda _: "the host's memory is large enough: nobody says its size",
    "host_reached": lambda note: (
        f"an engine gets {percent(note.value[0])} of the host's memory and link, at least {percent(note.value[1])}"
        + (f", and goes there and back in {scaled(note.value[2], 's')} a step" if note.value[2] else "")
        + ": ours, 2026-11-29, not fitted"
    ),
    **machines.SEVERAL_KINDS,
    # value: (engine, era, cards it was fitted on, backend or ""), None for the mean of all; why: the accelerator's id
    "engine": _engine,
    # value: (date, how far the tables are off); why: the accelerator's id
    "own_tables": _own_tables,
    # value: tokens, sequences; why: the source
    "max_num_batched_tokens": lambda note: (
        f"a step holds at most {note.value:,} tokens: {note.why or 'assumed, the engine says nothing of its own'}"
    ),
    "max_num_seqs": lambda note: f"a replica runs at most {note.value:,} sequences at once: {note.why}",
    # value: seconds
    "server": lambda note: f"a server takes {scaled(note.value, 's')} of its own before a first token",
    # value: prefill workers, decode workers, accelerators of all
    "workers": lambda note: (
        f"{several(note.value[0], 'worker')} for prefill and {note.value[1]} for decode, "
        f"{note.value[2]} accelerators in all" + (": one of a kind, unless said" if note.why else "")
    ),
    # value: bytes a second; why: the link
    "between_workers": lambda note: (
        f"a prompt's cache goes from prefill to decode workers over {machines.LINKS.get(note.why, note.why)} at "
        f"{scaled(note.value, 'B/s')} a device, one way"
    ),
    # value: names of coefficients; why: the engine
    "at_edge": lambda note: (
        f"coefficients of {note.why} at an edge of their search range, so their size is no measurement: "
        f"{', '.join(note.value)}"
    ),
    "not_fitted": lambda note: (
        f"coefficients of {note.why} never fitted, but defaults or other engines': {', '.join(note.value)}"
    ),
    # value: (family the fits are of, how much wider the intervals); why: the family
    "kernel_fits": _kernel_fits,
    "routing": lambda _: (
        "experts: uniform, independent routing, so a step touches E (1 - (1 - k/E)^tokens) of them; the ceiling allows "
        "for routing so alike that it is half as many; what is expected, for some experts being chosen far more often "
        "than others, as in benchmarks"
    ),
    # value: adapters, rank, modules (none: all); why: the model
    "adapters": _adapters,
    "adapters_unfitted": lambda _: (
        "expected times of adapters are those of plain matrix products of their sizes: no run with adapters was fitted"
    ),
    "adapters_experts": lambda _: "routed experts have no adapters",
    "state": lambda _: "recurrent state read and written once a step",
    "towers": lambda _: "text only: vision and audio towers are held in memory but not run",
    # value: (tokens, most); why: the model
    "beyond_the_model": _beyond_the_model,
    # of a comparison; value: a schedule
    "run": lambda note: (
        f"a request keeps a deployment busy for one over the requests a second of its run: {_RUNS[note.value]}"
    ),
    "mean_lengths": lambda _: (
        "requests of a log are taken as alike, of the mean lengths, their decode steps at the mean context of all steps"
    ),
    "largest_batch": lambda _: "batch: as many sequences as fit at the mean length, and always that many",
    "joules": lambda _: (
        "tokens per joule at TDP, the most that the accelerators draw; hosts and cooling are not counted"
    ),
    # value: a deployment, or several
    "named_twice": lambda note: f"{note.value} was named twice: one row",
    "baseline_without_times": lambda note: f"{note.value} has no times, so speed-ups are over {note.why}",
    # value: the models, in their order
    "unlike_models": lambda note: f"tokens are of different models, {' and '.join(note.value)}: one is not the other's",
    # value: (tokens in, tokens out) that all are compared on; why: whose requests are others
    "other_lengths": lambda note: (
        f"requests of {note.why} are of other lengths: all are compared on {several(note.value[0], 'token')} in and "
        f"{note.value[1]:,} out"
    ),
    "no_context": lambda note: (
        f"the context of {note.why} is left out: that of whole requests follows from their lengths"
    ),
    "no_price": lambda note: f"no price for {', '.join(note.value)}: left out where dollars decide",
    "no_tdp": lambda note: f"no TDP is known for {', '.join(note.value)}: left out where joules decide",
    # value: tokens, and the most the model was made for
    "longest_request": lambda note: (
        f"the longest request, {several(note.value[0], 'token')}, exceeds the {note.value[1]:,} that the model was "
        "made for"
    ),
    # value: tokens; why: deployments
    "longest_alone": lambda note: f"the longest request, {note.value:,} tokens, does not fit even alone on {note.why}",
    # value: a swept field; why: the phase
    "idle_axis": lambda note: f"{note.why} does not depend on {note.value.replace('_', '-')}: its rows repeat",
    # value: (devices, those one link joins, degrees across, what is left there, its bytes a second); why: the link
    "beyond_the_link": machines.beyond_the_link,
}
