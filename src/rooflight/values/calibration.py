"""What real engines get out of a device family: a few coefficients a kind of kernel, each with a meaning and a range.

Every coefficient states its plausible range; a file outside it is refused. `low` and `high` are factors on the
expected time: eight of ten measurements of kernels the fit never saw lie between them.
"""

# Types are not texts here: evaluating those costs a tenth of a millisecond each, at every start.

from typing import Annotated

import msgspec
from msgspec import Meta

from rooflight.values.tables import Tables

# A kernel inside a captured graph: hundreds of nanoseconds on a fast GPU to a hundred microseconds on a slow driver.
Floor = Annotated[float, Meta(ge=2e-7, le=1.2e-4)]
# A part of a floor: it may vanish.
Extra = Annotated[float, Meta(ge=0, le=1.2e-4)]
# A share of a datasheet rate that a long, large kernel reaches.
Efficiency = Annotated[float, Meta(ge=0.05, le=1)]
# A p-norm between adding two terms (1) and taking the larger (8 is within 9 % of it at worst).
Sharpness = Annotated[float, Meta(ge=1, le=8)]
# How much faster the last-level cache is than memory; 12 says that memory does not show at all.
Speedup = Annotated[float, Meta(ge=1, le=12)]
Low = Annotated[float, Meta(ge=0.1, lt=1)]
High = Annotated[float, Meta(gt=1, le=10)]


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """How far off a fit is, as shares of the measured time.

    rows      that were fitted
    median    median absolute error on held-out rows, and coverage of low..high there
    held_out  what was held out
    """

    rows: int
    median: float
    coverage: float
    held_out: str


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """The rows that an entry was fitted on; calibration/README.md says how they are hashed.

    sources  where they were published
    rows     how many, held-out ones included
    sha256   the first 16 digits of their hash; "" where the rows as they were are not at hand, and note says why
    """

    sources: tuple[str, ...]
    rows: int
    sha256: str = ""
    note: str = ""


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """What a fitted entry says of itself.

    data        what it was fitted on; None where nothing was
    at_edge     coefficients that ended at an end of their search range: their size is no measurement
    not_fitted  coefficients that no row of the data shows: defaults, or another entry's
    """

    data: Data | None = None
    at_edge: tuple[str, ...] = ()
    not_fitted: tuple[str, ...] = ()

    def measured(self, *names: str) -> bool:
        """Whether rows set all of these coefficients, so that what they make may be named as a cause."""
        return not {*names} & {*self.at_edge, *self.not_fitted}


class GemmFit(Provenance, frozen=True, kw_only=True):
    """A linear layer y = x W in one storage format.

    floor_s              the smallest time of the product itself
    quantise_floor_s     the same of the kernel that narrows the activations (0: none runs)
    quantise_efficiency  of memory bandwidth, by that kernel (it may reach the cache, so above 1 is possible)
    memory_efficiency    of memory bandwidth, by weights and activations of a large product
    ramp_s               what the memory pipeline takes to fill along a long input dimension
    ramp_inputs          inputs at which half of it is reached (engines split longer ones over compute units)
    cache_speedup        last-level cache bandwidth over memory bandwidth
    compute_efficiency   of the datasheet peak, by a large product of under a millisecond
    throttle             how much longer the arithmetic of a product of many milliseconds takes: power, cache misses
    short_inputs         start and end of a tile's loop over the inputs, expressed in inputs
    wave_share           of one full wave of tiles, lost at the end
    sharpness            p of the p-norm that joins memory and compute time
    """

    floor_s: Floor
    quantise_floor_s: Extra = 0.0
    quantise_efficiency: Annotated[float, Meta(ge=0.02, le=2)] = 1.0
    memory_efficiency: Efficiency
    ramp_s: Annotated[float, Meta(ge=0, le=1.5e-5)]
    ramp_inputs: Annotated[float, Meta(ge=100, le=16384)]
    cache_speedup: Speedup = 1.0
    compute_efficiency: Efficiency
    throttle: Annotated[float, Meta(ge=0, le=2)]
    short_inputs: Annotated[float, Meta(ge=0, le=2048)]
    wave_share: Annotated[float, Meta(ge=0, le=2)]
    sharpness: Sharpness
    low: Low
    high: High
    error: Error | None = None


class DecodeFit(Provenance, frozen=True, kw_only=True):
    """Attention of one query token a sequence over its cache, in one format of the cache.

    floor_s             the smallest time by heads of 128, the joining of split contexts included
    floor_dims          share of it that grows with the head's dimensions
    ramp_s, ramp_tokens what walking a long context adds, and the context at which half of it is reached
    memory_efficiency   of memory bandwidth, by a large cache
    cache_speedup       last-level cache bandwidth over memory bandwidth
    item_s              a compute unit's cost of one more (sequence, kv head) of head_dim 128 after its first
    group_share         by how much of itself that grows for each query head that shares the kv head
    compute_efficiency  of the datasheet peak, by the products of queries and keys
    sharpness           p of the p-norm that joins memory, items and compute
    """

    floor_s: Floor
    floor_dims: Annotated[float, Meta(ge=0, le=1)] = 0.0
    ramp_s: Annotated[float, Meta(ge=0, le=6e-5)]
    ramp_tokens: Annotated[float, Meta(ge=20, le=65536)]
    memory_efficiency: Efficiency
    cache_speedup: Speedup = 1.0
    item_s: Annotated[float, Meta(ge=0, le=2e-5)]
    group_share: Annotated[float, Meta(ge=0, le=0.3)]
    compute_efficiency: Efficiency
    sharpness: Sharpness
    low: Low
    high: High
    error: Error | None = None


class PrefillFit(Provenance, frozen=True, kw_only=True):
    """Causal attention of a prompt, in one format of the products.

    floor_s             the smallest time
    memory_efficiency   of memory bandwidth, by queries, keys, values and outputs
    cache_speedup       last-level cache bandwidth over memory bandwidth
    store_efficiency    of memory bandwidth, by what writes new keys and values to the cache (above 1: it finds them in
                        the last-level cache, or does so beside the products)
    compute_efficiency  of the datasheet peak, by wide heads and long prompts
    softmax_dims        what the softmax of one score costs, expressed in head dimensions
    masked_keys         keys a query computes in vain, because its tile is cut by the mask
    item_s              a compute unit's cost of one more tile of 128 queries of head_dim 128 after its first
    unpacked            0: the heads that share keys share a tile, so short prompts fill it; 1: a tile a head
    wave_share          of one full wave of tiles, lost at the end
    throttle            as in GemmFit
    sharpness           p of the p-norm that joins memory and compute
    """

    floor_s: Floor
    memory_efficiency: Efficiency
    cache_speedup: Speedup = 1.0
    store_efficiency: Annotated[float, Meta(ge=0.05, le=20)] = 1.0
    compute_efficiency: Efficiency
    softmax_dims: Annotated[float, Meta(ge=0, le=256)]
    masked_keys: Annotated[float, Meta(ge=0, le=256)]
    item_s: Annotated[float, Meta(ge=0, le=2e-5)]
    unpacked: Annotated[float, Meta(ge=0, le=1)]
    wave_share: Annotated[float, Meta(ge=0, le=4)]
    throttle: Annotated[float, Meta(ge=0, le=2)]
    sharpness: Sharpness
    low: Low
    high: High
    error: Error | None = None


class ElementwiseFit(msgspec.Struct, frozen=True, kw_only=True):
    """Norms, activation functions, rotary embedding: a floor, and bytes at an efficiency."""

    floor_s: Floor
    memory_efficiency: Efficiency
    low: Low
    high: High
    basis: str = ""


class LinkFit(Provenance, frozen=True, kw_only=True):
    """One collective on one kind of link.

    latency_s        two devices, a few bytes
    hop_s            each further device
    sync_s           added once the payload is sent in two steps instead of one (all_reduce only)
    efficiency       of the link's one-way rate, by large payloads on many devices (above 1 where a switch adds up
                     in flight and less than a ring's bytes are sent)
    start_share      of that efficiency lost to fewer devices: efficiency x (1 - start_share / devices)
    contention       how fast the rate falls with devices that share one root: (2 / devices)^contention
    ramp             what a library's pieces cost that follow each other (roofline.collectives.piped_s)
    """

    latency_s: Floor
    hop_s: Extra
    sync_s: Extra = 0.0
    efficiency: Annotated[float, Meta(ge=0.05, le=1.3)]
    start_share: Annotated[float, Meta(ge=0, le=1)] = 0.0
    contention: Annotated[float, Meta(ge=0, le=3)] = 0.0
    ramp: Annotated[float, Meta(ge=0, le=3)] = 0.0
    low: Low
    high: High
    error: Error | None = None
    basis: str = ""


class NetworkFit(Provenance, frozen=True, kw_only=True):
    """One collective across machines.

    start_s          what leaving a domain adds whatever the size and the network
    message_s        a message there; a stated latency replaces it
    first_messages   so many of them before any reaches twice as many domains
    efficiency       of a device's rate into the network
    ramp             as in LinkFit
    """

    start_s: Extra = 0.0
    message_s: Floor
    first_messages: Annotated[float, Meta(ge=0, le=10)] = 0.0
    efficiency: Efficiency
    ramp: Annotated[float, Meta(ge=0, le=3)] = 0.0
    low: Low
    high: High
    error: Error | None = None
    basis: str = ""


class Collectives(msgspec.Struct, frozen=True, kw_only=True):
    """What collective libraries get out of links and networks, whatever the family.

    library          by "kind of link/collective"; network: by collective
    nvlink           kinds that are generations of NVLink, in order; fabric: the one that stands for any other fabric
    pcie             kinds of PCIe by family; switched: of any other; no_peer_to_peer: of cards without. Hosts differ by
                     ten times with many cards: engines' runs on 4 and 8 L40S were on better ones than the timed one
    """

    date: str
    source: str
    nvlink: tuple[str, ...]
    fabric: str
    pcie: dict[str, str]
    switched: str
    no_peer_to_peer: str
    library: dict[str, LinkFit]
    network: dict[str, NetworkFit]


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The fits of one device family. Where a family was not measured, those of another, widened.

    date         of the fit
    fitted_on    devices and data
    inherits     the family whose fits these are ("" where all are its own), and why, by what factor the intervals
                 were widened, and what large products reach of the peak over what that family's do (compute)
    gemm         by storage format of the weights; decode by format of the cache; prefill by format of the products
    links        by "kind of link/collective", of an engine: the best of its own kernels and a library
    collectives  of libraries, on links and networks of any family; None in a calibration made by hand
    tables       of kernels measured on the very machine, which take the place of the fits; None: the fits count
    """

    family: str
    date: str
    source: str
    fitted_on: str
    inherits: str = ""
    why: str = ""
    widened: float = 1.0
    compute: float = 1.0
    gemm: dict[str, GemmFit]
    decode: dict[str, DecodeFit]
    prefill: dict[str, PrefillFit]
    elementwise: ElementwiseFit
    links: dict[str, LinkFit]
    collectives: Collectives | None = None
    tables: Tables | None = None


class Busy(msgspec.Struct, frozen=True, kw_only=True):
    """An engine's intervals where many requests run at once, as Engine names those of few."""

    low: Low
    high: High
    moe_low: Low
    moe_high: High
    run_low: Low
    run_high: High
    moe_run_low: Low
    moe_run_high: High
    first_low: Low
    first_high: High
    moe_first_low: Low
    moe_first_high: High


class Engine(Provenance, frozen=True, kw_only=True):
    """A serving engine on a device family, as the time of its steps shows it: kernels, host, waiting.

    family                  the device family it was fitted on, or a line of them (catalog/calibration/default.toml);
                            "" for all families it was seen on
    backend                 what it drives the device by, where that is not the vendor's own or rows tell it apart
    era                     "2024" for versions of that year and before, "2025" for later ones
    cards                   accelerators it was fitted on; unseen_card: by how much its intervals are wider on others
    body_share              of the kernels' bodies: below 1 where it fuses better than what was timed, above where worse
    unit_byte_s             what a compute unit takes for a byte it moves, where the engine's own kernels keep fewer
                            loads in flight than memory could serve (0: as many as the kernels that were timed)
    floor_share             of the kernels' floors that its graphs and overlapped launches leave
    fp4_floor_share         the same of the floors of products in FP4 other than experts', on top: a kernel of its own
                            narrows the inputs of each
    host_s                  between steps, whatever the batch: scheduling, sampling, copying
    host_per_sequence_s     the same per sequence
    expert_share            of the bodies of routed experts' products
    expert_layer_s          of each layer with routed experts: routing, sorting, waiting for the busiest device
    beside_share            what prompt tokens add to a step of decoding sequences, over what the kernels say
    unshared_kv_share       how much of the reads that query heads sharing a head's keys and values would save is paid:
                            0 where decode attention reads the cache once for them, 1 where once for each (vLLM of 2024
                            on CDNA), above where those reads are slower than memory
    repeated_kv_share       reads of the cache for each query head that come on top, where a framework copies the cache
                            each step and repeats it for query heads, in kernels that are not split over the context
    link_share              of collectives' time: 1 where they are as fast as the fitted ones, above where an engine's
                            are slower, or wait for the slowest device
    launch_s                what launching a kernel takes where a framework does so one by one, routed experts one after
                            the other: no step takes less than all of its launches (0: graphs, or kernels that wait)
    prefill_share           what a lone prefill takes beyond all that (1: nothing), with an interval of its own
    prefill_kernels         whether that is beyond the kernels as they were timed alone, whatever the engine's other
                            shares are; then moe_prefill_share is that of a model with routed experts
    reserved_output         share of its output a running sequence holds memory for: 1 where a request is admitted only
                            once all of it fits, 0.5 (the mean over its life) where memory is taken as it grows
    server_s                a server's own time before a first token: HTTP, tokens, scheduling
    queue                   how many prompts queue: of C requests (C - 1) / sqrt(1 + (C - 1) / queue^2) are ahead of one
    low, high               interval of a step of a model without routed experts; moe_low, moe_high with them;
                            run_low, run_high and moe_run_low, moe_run_high of a whole request and of rates;
                            first_low, first_high and moe_first_low, moe_first_high of the time to first token;
                            busy: the same of replicas with many requests at once (roofline.engine.interval), None: the
                            load makes no difference
    first_data              the runs that server_s and queue were fitted on
    step_share, first_share what your own calibration makes of a step (catalog.own), and of a first token in a run: 1 in
                            every fit. calibrated_on: the accelerator that it was made on, whose intervals are its own
    """

    id: str
    family: str = ""
    backend: str = ""
    era: str = "2025"
    date: str
    fitted_on: str
    cards: tuple[str, ...] = ()
    unseen_card: Annotated[float, Meta(ge=1, le=3)] = 1.0
    body_share: Annotated[float, Meta(ge=0.5, le=3)] = 1.0
    unit_byte_s: Annotated[float, Meta(ge=0, le=8e-10)] = 0.0
    floor_share: Annotated[float, Meta(ge=0, le=2)] = 0.4
    fp4_floor_share: Annotated[float, Meta(ge=0, le=4)] = 0.0
    host_s: Annotated[float, Meta(ge=0, le=0.05)] = 0.001
    host_per_sequence_s: Annotated[float, Meta(ge=0, le=3e-4)] = 2e-5
    expert_share: Annotated[float, Meta(ge=0.5, le=4)] = 1.2
    expert_layer_s: Annotated[float, Meta(ge=0, le=2e-4)] = 4e-5
    beside_share: Annotated[float, Meta(ge=0.5, le=3)] = 1.0
    unshared_kv_share: Annotated[float, Meta(ge=0, le=8)] = 0.0
    repeated_kv_share: Annotated[float, Meta(ge=0, le=40)] = 0.0
    link_share: Annotated[float, Meta(ge=0.3, le=10)] = 1.0
    launch_s: Annotated[float, Meta(ge=0, le=2e-4)] = 0.0
    prefill_share: Annotated[float, Meta(ge=0.3, le=20)] = 1.0
    prefill_kernels: bool = False
    moe_prefill_share: Annotated[float, Meta(ge=0.1, le=40)] = 1.0
    prefill_low: Low = 0.7
    prefill_high: High = 1.6
    reserved_output: Annotated[float, Meta(ge=0, le=1)] = 0.5
    server_s: Annotated[float, Meta(ge=0, le=0.5)] = 0.038
    queue: Annotated[float, Meta(gt=0, le=20)] = 1.0
    low: Low = 0.7
    high: High = 1.5
    moe_low: Low = 0.6
    moe_high: High = 1.8
    run_low: Low = 0.7
    run_high: High = 1.5
    moe_run_low: Low = 0.6
    moe_run_high: High = 1.8
    first_low: Low = 0.5
    first_high: High = 2.5
    moe_first_low: Low = 0.5
    moe_first_high: High = 2.5
    busy: Busy | None = None
    first_data: Data | None = None
    step_share: float = 1.0
    first_share: float = 1.0
    calibrated_on: str = ""
    error: str = ""

    @property
    def full_id(self) -> str:
        """Its id, with the backend where rows tell that apart: llama.cpp-vulkan."""
        return f"{self.id}-{self.backend}" if self.backend else self.id
