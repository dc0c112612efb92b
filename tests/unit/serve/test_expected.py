"""Expected times: in their order, in their interval, adding up, and whose they are."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import rooflight
from rooflight.catalog.calibration import all_engines, engine_named
from rooflight.errors import UnknownName
from rooflight.library.questions import make_scenario
from rooflight.roofline.engine import step_s
from rooflight.serve import phases, run
from rooflight.serve.analyze import phase_block
from rooflight.serve.expected import widening
from rooflight.serve.gap import UNMEASURED_HOST
from rooflight.serve.memory import admitted
from rooflight.work import step as steps
from unit.models import llama_3_8b

GENERIC = engine_named(None)


def asked(on="h100-sxm", model=None, **fields):
    return make_scenario(model or llama_3_8b(), on, **fields)


def under(engine, sc):
    return msgspec.structs.replace(sc, engine=engine)


@pytest.mark.parametrize("on", ["h100-sxm", "8xh200-sxm", "b200", "l40s", "mi300x", "t4", "tpu-v6e", "apple-m3-max-40"])
@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_the_three_times_stand_in_their_order(on, phase):
    """ceiling <= roofline <= expected, in an interval that starts at no less than the ceiling."""
    span = rooflight.analyze(llama_3_8b(), on, batch=4, ignore_capacity=True).phases[phase].time_s

    assert span.ceiling <= span.roofline <= span.expected
    assert span.ceiling <= span.low <= span.expected <= span.high


def test_rates_swap_the_interval():
    phase = rooflight.analyze(llama_3_8b(), "h100-sxm", batch=4).phases["decode"]

    assert phase.tokens_per_s.expected == pytest.approx(4 / phase.time_s.expected)
    assert phase.tokens_per_s.low == pytest.approx(4 / phase.time_s.high)
    assert phase.tokens_per_s.high == pytest.approx(4 / phase.time_s.low)


@pytest.mark.parametrize("fields", [{}, {"batch": 64, "tp": 4}, {"weights": "fp8"}, {"graphs": False}])
def test_the_waterfall_leads_from_the_ceiling_to_the_expected_time(fields):
    for phase in rooflight.analyze(llama_3_8b(), "h100-sxm", **fields).phases.values():
        assert phase.waterfall[0].name == "ceiling"
        assert sum(step.seconds for step in phase.waterfall) == pytest.approx(phase.time_s.expected)
        assert all(step.seconds >= 0 for step in phase.waterfall)


def test_a_pure_step_is_no_slower_than_one_with_newcomers_beside():
    state = run.served(asked(batch=32))
    pure = phases.decode(asked(batch=32)).expected

    assert state.tpot_s.expected > pure.seconds
    assert state.ttft_s.expected > phases.prefill(asked()).expected.seconds


def test_longer_answers_leave_decode_in_peace():
    """With the same prompts and ever longer answers, fewer newcomers arrive a step: TPOT falls towards a pure step."""
    short, long = (run.served(asked(batch=32, osl=osl, isl=2048)).tpot_s.expected for osl in (64, 2048))

    assert long < short


def test_memory_bounds_what_runs_at_once_and_the_rest_waits():
    """One 80 GB card holds a few hundred such requests: of 4,000 the others wait for their first token."""
    few, many = (run.served(asked(batch=batch)) for batch in (200, 4000))

    assert many.running < 500
    assert many.running + many.waiting == pytest.approx(4000)
    assert many.ttft_s.expected > 5 * few.ttft_s.expected


def test_eager_launches_take_the_host_time_of_every_kernel():
    """291 kernels at 54 us: a step of a small model on a fast card is no shorter, and the wait is the host's."""
    graphs, eager = (
        phases.decode(asked(model=None, graphs=graphs, weights="int4-g128")).expected for graphs in (True, False)
    )

    assert eager.seconds == pytest.approx(291 * 54e-6)
    assert graphs.seconds < eager.seconds
    assert eager.host - graphs.host == pytest.approx(eager.seconds - graphs.seconds)


def test_a_batch_run_is_prefill_and_then_its_steps():
    """Eight prompts of 512 tokens fit into one step of 8,192: their prefill together."""
    sc = asked(batch=8, isl=512, osl=100, prefill_batch=8)
    whole, fill, step = run.batch(sc), phases.prefill(sc).span, phases.decode(sc).span

    for basis in ("roofline", "expected"):
        times = [getattr(span, basis) for span in (whole.request_s, fill, step)]
        assert times[0] == pytest.approx(times[1] + 99 * times[2])
    assert whole.ttft_s.expected == pytest.approx(fill.expected)
    assert whole.tpot_s.expected == pytest.approx(step.expected)


@pytest.mark.parametrize("schedule", [run.served, run.batch])
def test_arrays_give_what_numbers_give(schedule):
    batches = [1, 8, 64]
    sc = asked()
    arrays = msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, batch=np.array(batches)))
    together = schedule(arrays).request_s
    for place, batch in enumerate(batches):
        one = schedule(asked(batch=batch)).request_s
        assert np.broadcast_to(together.expected, 3)[place] == pytest.approx(one.expected, rel=1e-9)


def test_engines_are_found_in_their_era_then_on_their_family_before_others():
    assert engine_named("vllm", "Hopper").family == "Hopper"
    assert engine_named("vllm", "Hopper", "2024").era == "2024"
    assert (engine_named("vllm", "CDNA3").era, engine_named("vllm", "CDNA3").family) == ("2025", "")
    assert engine_named("vllm", "CDNA3", "2024").family == "CDNA3"
    assert engine_named("llama.cpp", "Ampere").family == "Ampere"
    assert engine_named("trtllm", "Hopper").id == "tensorrt-llm"
    assert engine_named("vllm", "a family never seen").family == ""
    assert engine_named(None).id == "generic"
    with pytest.raises(UnknownName, match="no engine 'foo' is calibrated"):
        engine_named("foo")


@pytest.mark.parametrize("engine", all_engines(), ids=lambda e: f"{e.id}-{e.family}-{e.era}")
def test_every_engine_says_what_it_was_fitted_on(engine):
    """Plausible ranges are checked on reading (values.calibration)."""
    assert "rows" in engine.fitted_on
    assert engine.low < 1 < engine.high
    assert engine.error


def test_a_family_without_measurements_has_a_wider_interval():
    """The L40S was measured; RDNA inherits its family's fits and says so."""
    from rooflight.catalog.calibration import calibration

    assert calibration("Ada").widened == 1
    assert calibration("RDNA3").widened > 1
    assert calibration("RDNA3").inherits == "Ada"


def test_a_served_step_keeps_to_its_ceiling():
    """Whatever the engine: a served step keeps to the ceiling of the sequences that decode."""
    for name in ("vllm", "sglang", "tensorrt-llm", "llama.cpp"):
        analysis = rooflight.analyze(llama_3_8b(), "h100-sxm", batch=16, engine=name)
        step = phases.decode(asked(), batch=analysis.served.running)
        assert analysis.served.tpot_s.expected >= step.time.ceiling_s
        assert analysis.served.engine == name


def test_a_card_the_engine_was_not_fitted_on_has_a_wider_interval():
    """Fitted on the very card: as held out. Another of the family: wider. Fits inherited: by its factor."""
    engine = msgspec.structs.replace(GENERIC, cards=("h100-sxm",), unseen_card=1.2)
    on = {name: asked(name).accelerator for name in ("h100-sxm", "h200-sxm", "rx-7900-xtx")}

    assert widening(on["h100-sxm"], engine) == 1
    assert widening(on["h200-sxm"], engine) == 1.2
    assert widening(on["rx-7900-xtx"], engine) == 1.5


def test_memory_taken_as_it_grows_holds_more_sequences():
    """isl 1,000 and osl 1,000: reserved at once 2,000 tokens each, in the mean of their lives 1,500."""
    sc = asked(batch=1024, isl=1000, osl=1000, ignore_capacity=True)
    whole, grown = (
        admitted(under(msgspec.structs.replace(GENERIC, reserved_output=share), sc)) for share in (1.0, 0.5)
    )

    assert grown / whole == pytest.approx(2000 / 1500, rel=0.02)


def test_requests_beyond_memory_wait_for_their_turn():
    """Those that wait, over those that run, times how long one runs."""
    few = run.served(asked(batch=64, isl=4096, osl=1024))
    many = run.served(asked(batch=640, isl=4096, osl=1024))
    turn = many.request_s.expected * many.running / 640

    assert few.waiting < 5
    assert many.running < 200
    assert many.ttft_s.expected == pytest.approx(many.waiting / many.running * turn, rel=0.05)


def test_an_engine_whose_compute_units_draw_little_gains_nothing_from_faster_memory():
    """llama.cpp at batch 1: an A100 has 2.2 times an RTX 3090's bandwidth, and 1.3 times its compute units."""
    own = msgspec.structs.replace(GENERIC, unit_byte_s=1.2e-10, host_s=0.0)
    cards = [asked(on, batch=1) for on in ("a100-sxm4-80gb", "rtx-3090")]
    parts = [sc.steps.parts(steps.decode(sequences=1, context=1152)) for sc in cards]

    slow = [step_s(part, own, sequences=1, expert_layers=0) for part in parts]
    fast = [step_s(part, GENERIC, sequences=1, expert_layers=0) for part in parts]

    assert all(seconds > part.unit_bytes * own.unit_byte_s for seconds, part in zip(slow, parts, strict=True))
    assert parts[1].unit_bytes / parts[0].unit_bytes == pytest.approx(108 / 82)
    assert 108 / 82 < slow[1] / slow[0] < 1.5 < 1.8 < fast[1] / fast[0]


def test_experts_are_among_what_compute_units_draw():
    """Where the units' limit is all, the bytes of experts count once: beside it only floors, links and the host."""
    sc = make_scenario("openai/gpt-oss-20b", "h100-sxm", batch=1)
    limited = msgspec.structs.replace(GENERIC, unit_byte_s=8e-10)
    part = sc.steps.parts(steps.decode(sequences=1, context=1152))

    seconds = step_s(part, limited, sequences=1, expert_layers=0)
    beside = part.floors * limited.floor_share + part.link + limited.host_s + limited.host_per_sequence_s
    assert seconds - beside == pytest.approx(part.unit_bytes * limited.unit_byte_s, rel=0.01)


def test_requests_that_wait_for_memory_get_no_tokens():
    """A rate of all grows until memory is full; TPOT and the rate of one stay where they are."""
    sizes = {"isl": 6534, "osl": 771, "engine": "vllm", "max_num_batched_tokens": 1 << 15}
    full = int(admitted(asked(batch=1, **sizes)))
    half, most, *beyond = (
        run.served(asked(batch=batch, **sizes)) for batch in (full // 2, full + 1, full * 2, full * 20)
    )

    assert half.output_tokens_per_s.expected < most.output_tokens_per_s.expected
    for one in beyond:
        assert one.output_tokens_per_s.expected == pytest.approx(most.output_tokens_per_s.expected)
        assert one.tpot_s.expected == pytest.approx(most.tpot_s.expected)


def test_a_share_withheld_of_what_is_free_leaves_more_where_weights_fill_the_memory():
    """72.7 GB of weights on a card of 85: vLLM withholds a tenth of 85 GB, TensorRT-LLM a tenth of what is left.

    Above 85 - 72.7 = 12.3 GB, the first leaves 3.8 GB at most and the second 11.
    """
    of_all, of_free = (
        make_scenario("llama-3.1-70b", "h100-sxm", weights="fp8", batch=1, **{name: 0.9})
        for name in ("gpu_memory_utilization", "free_gpu_memory_fraction")
    )

    assert admitted(of_free) > 2 * admitted(of_all) > 0


def test_what_no_measurement_set_is_no_cause():
    """A host's time that ended at the edge of its search range is listed, the host not named."""
    sc = asked(batch=1, engine="vllm")
    known = msgspec.structs.replace(engine_named("vllm", "Hopper"), at_edge=(), not_fitted=())
    engine = msgspec.structs.replace(known, at_edge=("host_s",))

    scenarios = (under(one, sc) for one in (engine, known))
    told, named = (phase_block(one, phases.decode(one)).waterfall for one in scenarios)

    assert [step.seconds for step in told] == [step.seconds for step in named]
    assert "host between steps" in {step.name for step in named}
    assert "host between steps" not in {step.name for step in told}
    assert UNMEASURED_HOST in {step.name for step in told}


@pytest.mark.parametrize(
    ("engine", "on", "model", "names"),
    [
        (None, "h100-sxm", "meta-llama/Meta-Llama-3-8B", ["prefill_share"]),
        ("transformers", "h100-sxm", "meta-llama/Meta-Llama-3-8B", ["host_per_sequence_s", "server_s"]),
        ("deepspeed", "a100-sxm4-80gb", "mistralai/Mixtral-8x7B-v0.1", ["host_per_sequence_s", "expert_share"]),
    ],
)
def test_the_answer_says_which_coefficients_were_not_measured(engine, on, model, names):
    said = rooflight.analyze(model, f"4x{on}", engine=engine, ignore_capacity=True).assumptions

    lines = " ".join(line for line in said if line.startswith("coefficients of "))
    assert all(name in lines for name in names)
    assert ("expert_share" in lines) == ("expert_share" in names)  # of no matter to a model without experts
