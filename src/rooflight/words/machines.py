"""What is taken for granted of a machine, in words: one function a key of a note."""

from __future__ import annotations

from rooflight.units import scaled
from rooflight.values.note import Note


def no_path(note: Note) -> str:
    """A format that the hardware has no path for."""
    name, used = note.value
    return f"{note.why} has no {name} path: those products run at its {used} peak"


def no_peak(note: Note) -> str:
    """What is withheld where no compute peak is known."""
    forms = " or ".join(note.value)
    return (
        f"{note.why} has no published {forms} peak: decode counts memory and links alone, of which arithmetic may take "
        "longer at large batches; prefill, first tokens and whole requests are withheld"
    )


def in_conflict(note: Note) -> str:
    """Figures of which sources disagree."""
    things, doubt = note.value
    named = "; ".join(
        f"{thing} {' or '.join(f'{value:,g} {unit} ({source})' for value, unit, source in figures)}"
        for thing, figures in things
    )
    return (
        f"sources disagree on {note.why}: {named}; {doubt}. Ceilings take the faster, so that nothing true is called "
        "impossible; roofline, expected times and ridge points take the slower, which may be relied on"
    )


def launch(note: Note) -> str:
    """The floor of a launch."""
    mode, floor = note.value
    if not floor:
        return f"no launch floor: {note.why} runs a compiled program"
    return f"{mode} launch floor {scaled(floor, 's')} a kernel, the smallest seen for {note.why}"


def call(note: Note) -> str:
    """What a call costs, where it was measured."""
    mode, seconds = note.value
    return f"a call costs {scaled(seconds, 's')} ({mode}), as measured on {note.why}"


# What a share of memory is of.
_SHARES = {
    "total": "gpu-memory-utilization {share:g}, of what a program is given",
    "before": "mem-fraction-static {share:g}, of what is free before loading",
    "after": "free-gpu-memory-fraction {share:g}, of what is free after loading",
}


def memory_share(note: Note) -> str:
    """Which share of memory the engine may use."""
    of, share = note.value
    whose = f"{note.why}'s own" if note.why else "no engine is named"
    return f"{_SHARES[of].format(share=share)}: {whose}"


def engine_memory(note: Note) -> str:
    """Whose rules the engine's memory follows."""
    engine, version = note.value
    which = f"as of {version}" if version else "as of its newest version"
    return f"what {engine} keeps beside weights and cache, {which}: by rules found on {note.why}"


def clock(note: Note) -> str:
    """The clock that ceilings are of."""
    if note.value is None:
        return f"the compute ceiling of {note.why} is taken at its maximum clock, all other rates as rated"
    return f"the compute ceiling of {note.why} is its rated peak with a margin of {note.value - 1:.0%} for the clock"


# How a total of memory was come by.
_TOTALS = {
    "measured": "driver output", "printed": "as printed", "rule": "by rule from the other total",
    "label": "the label in GiB, less what drivers keep", "wired": "what a GPU may wire of it", "stated": "as stated",
}  # fmt: skip


def measured(note: Note) -> str:
    """When and how it was measured, and what ceilings then are."""
    device, date, command, complete = note.value
    short = "" if complete else "; not every part of a measurement was done"
    return (
        f"{note.why} is a measured machine: {device}, on {date}, by `{command}`{short}. Rates are medians; what is "
        "called a ceiling is the fastest seen here: the best run of any kernel, and as much again as "
        "fast runs lay above the median"
    )


def elsewhere(note: Note) -> str:
    """A measurement that is kept as this machine's, and is of another."""
    device, here = note.value
    return (
        f"measured on another device: {note.why} is of {device}, and here is {' and '.join(here)}; "
        "a full `rooflight measure` here takes its place"
    )


def unsteady(note: Note) -> str:
    """Rates whose runs differed so much that what is made of them says little."""
    named = [f"{what} {name} by {spread:.0%}" for what, name, spread in note.value[:_RATES]]
    more = f" and {len(note.value) - _RATES} more" if len(note.value) > _RATES else ""
    return (
        f"runs on {note.why} differed by much ({', '.join(named)}{more}): the machine was probably busy, so that "
        "its medians are low and its ceilings high; measure it again while it is idle"
    )


# Rates that are named of several.
_RATES = 3

# Fields of an accelerator, in a reader's words.
_FIELDS = {
    "link": "its link", "unrated_link": "its link's name", "pcie_bytes_per_s": "PCIe",
    "cpu_link_bytes_per_s": "the link to its CPU", "network": "its network", "tdp_w": "its power limit",
    "host_memory_bytes_per_s": "its host's memory", "last_level_cache_bytes": "its last-level cache",
    "compute_units": "its compute units",
    "memory_bytes": "its memory", "memory_bytes_per_s": "its memory bandwidth",
}  # fmt: skip


def from_datasheet(note: Note) -> str:
    """What was not measured and stands in from the datasheet."""
    fields, forms = note.value
    named = [_FIELDS[name] for name in fields if name in _FIELDS]
    if "peak_flop_per_s" in fields:
        named.append(f"its peaks in {', '.join(forms)}")
    return f"not measured, and as printed for {note.why}: {', '.join(named) or 'no rate'}"


def part_of(note: Note) -> str:
    """A machine that is a part of the device on the datasheet."""
    own, all_ = note.value
    here = f"{own:,.0f} of the {all_:,.0f} compute units of {note.why} are here" if own and all_ else ""
    here = here or f"how much of {note.why} is here cannot be told"
    return f"{here}: no rate, cache or memory is taken from its datasheet, which is of all of it"


def memory_total(note: Note) -> str:
    """The two totals of memory, and how they are known."""
    driver, driver_how, program, program_how = note.value
    return (
        f"memory of {note.why}: {scaled(driver, 'B')} ({_TOTALS[driver_how]}), of which a program is given "
        f"{scaled(program, 'B')} ({_TOTALS[program_how]})"
    )


def beyond_the_link(note: Note) -> str:
    """What crosses more devices than one link joins."""
    devices, domain, across, far, rate = note.value
    names = {"tp": "tensor parallelism", "pp": "the pipeline", "ep": "expert parallelism"}
    talk = " and ".join(names[one] for one in across)
    joined = f"exceed the {domain} that {note.why} joins" if note.why else "are a machine each"
    over = f"{LINKS.get(far, far)} at {scaled(rate, 'B/s')} a device, one way"
    return f"{devices} devices {joined}: {talk} crosses {over}, and the slower level counts"


# What is no link by name.
LINKS = {"network": "the network between machines"}


def network(note: Note) -> str:
    """Which network is assumed."""
    rate, fastest, known = note.value
    whose = f"the adapters of {note.why}'s reference node" if known else "an adapter of a reference node"
    return (
        f"network not stated: {scaled(rate, 'B/s')} a device, one way, {whose}; the ceiling takes "
        f"{scaled(fastest, 'B/s')}, the fastest known"
    )


def variant(note: Note) -> str:
    """One of the memory sizes that a card comes in."""
    entry, size, known, refitted = note.value
    others = ", ".join(str(other) for other in known if other != size)
    how = "a size that others than the vendor fit; " if refitted else ""
    return f"{note.why} read as {entry} with {size} GB: {how}known with {others} GB too"


def default_size(note: Note) -> str:
    """The memory size that a plain name takes."""
    size, others = note.value
    named = ", ".join(f"{note.why}-{other}gb" for other in others)
    return f"{note.why} taken with {size} GB; sold in other sizes: {named}"


def offloaded(note: Note) -> str:
    """What of a measured run lay on the host, as far as its row says."""
    asked = note.value
    if asked is None:
        return "a part of it ran on the host: the ceiling is that of everything on the accelerator, nothing is expected"
    if not asked.kv_offload:
        part = "the KV cache"
    elif asked.n_cpu_moe:
        part = f"the experts of {asked.n_cpu_moe:,} layers"
    elif asked.n_gpu_layers is not None:
        part = f"all but {asked.n_gpu_layers:,} layers" if asked.n_gpu_layers else "all layers"
    else:
        part = "nothing"
    if note.why == "stated":
        return f"{part} lay on the host"
    return (
        f"a part of it ran on the host, the row does not say which: {part}, as much as has to, is expected there; the "
        "interval goes up to all of it and over usual hosts, the ceiling is that of the fastest of these splits"
    )


def layer_split(note: Note) -> str:
    """Which of several kinds of devices holds how many layers."""
    total = sum(layers for _, _, layers in note.value)
    held = ", ".join(
        f"{card if devices == 1 else f'{devices} x {card}'} {layers:,}" for card, devices, layers in note.value
    )
    return f"layers are split by memory and passed in turn: of {total:,}, {held}"


def slowest_card(note: Note) -> str:
    """Tensors cut in equal parts over unlike devices."""
    return f"every tensor is cut in equal parts over {' and '.join(note.value)}: the slowest and smallest sets the pace"


def unfitted_cards(note: Note) -> str:
    """No engine was fitted on unlike cards."""
    return f"no engine was measured on unlike cards: intervals are {note.value:g} times as wide (ours, 2026-11-29)"


def prefill_on(note: Note) -> str:
    """The card of the prefill workers."""
    card, devices, tp = note.value
    cut = f", tp {tp}" if devices > 1 else ""
    return f"a prefill worker has {devices} x {card}{cut}: a first token is timed there, on that card's own fits"


def spread(_: Note) -> str:
    """How unlike cards share a step, where nobody says it."""
    return "how much of a step each of the unlike cards had is not stated: the ceiling is of any spread over them"


# Keys of deployments that have several kinds of cards.
SEVERAL_KINDS = {
    "layer_split": layer_split, "slowest_card": slowest_card, "unfitted_cards": unfitted_cards,
    "prefill_on": prefill_on, "spread": spread,
}  # fmt: skip
