"""What a kernel does, told by its name: one table for CUDA, ROCm, Triton and engines' own kernels."""

from __future__ import annotations

import functools
import re

# Which operator a name is of, by the first row that occurs in it (case ignored); each list says whose kernels they are.
# What a template or an argument names occurs too, so the rows go from the particular to the general.
_FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("memset", (r"^\W*(cuda |hip )?memset\b", r"__amd_rocclr_fillbuffer")),
    ("copy", (r"^\W*(cuda |hip )?(memcpy|copy(host|device|buffer))", r"__amd_rocclr_copybuffer")),
    ("communication", (
        # NCCL and RCCL: https://github.com/NVIDIA/nccl/blob/master/src/device/generate.py
        r"nccl(dev)?kernel", r"\bnccl", r"\brccl", r"msccl(kernel|pp)", r"nvshmem", r"rocshmem",
        # engines' own: csrc/custom_all_reduce.cuh, FlashInfer's and TensorRT-LLM's allreduce_fusion, aiter
        r"cross_device_reduce", r"all_?reduce", r"all_?gather", r"reduce_?scatter", r"all_?to_?all(?!oc)", r"moe_a2a",
        r"multimem_", r"(one|two)_shot", r"lamport", r"userbuffers", r"quick_?reduce",
        # DeepEP: https://github.com/deepseek-ai/DeepEP/tree/main/csrc/kernels
        r"deep_?ep\b", r"intranode::", r"internode(_ll)?::", r"symm_mem",
    )),
    ("moe", (
        # routing; vLLM csrc/moe, SGLang sgl-kernel/csrc/moe, OpenAI's triton_kernels (matmul_ogs, routing)
        r"moe_align", r"topk_?softmax", r"topk_?sigmoid", r"topk_?gating", r"topk_moe", r"grouped_?topk",
        r"biased_grouped",
        r"moe_(fused_)?gate", r"moe_sum", r"moe_permute", r"_routing_(compute|memset)", r"_topk_forward",
        r"bitmatrix", r"count_and_sort_expert", r"expand(Input)?Rows", r"finalize_?moe",
        r"routing(main|indices|custom)", r"(shuffle|permute|unpermute)_?(rows|tokens|expert)", r"(pre|post)_?reorder",
        r"(?<![a-z])ep_(scatter|gather)",
        # the experts' matrix products
        r"fused_?moe", r"moe_?(mxgemm|gemm|gemv|wna16|marlin|kernel|sorting|stage|flatmm|2stage)", r"marlin_moe",
        r"matmul_ogs", r"_finalize_matmul_scatter", r"fmoe", r"moe_ck", r"ck_moe", r"bmm_.*(swiglu|routed)",
        r"group(ed)?_?(gemm|mm|problemshape)", r"m_?grouped", r"mul_mat_id", r"mm_ids", r"mul_mat_vec\w*_moe",
        r"moe::", r"::moe",
    )),
    ("gemm", (r"triton_tem_\w*_(mm|addmm|bmm|matmul)",)),
    ("attention", (r"triton_tem_\w*(flex_attention|attention)",)),
    # the compiler's fused kernels name the calls that they are made of
    ("norm", (r"triton_(red|per|poi|for)_\w*(norm|rsqrt\w*mean|mean\w*rsqrt)",)),
    ("activation", (r"triton_(red|per|poi|for)_\w*(silu|gelu|swiglu|sigmoid_mul|mul_sigmoid)",)),
    ("embedding", (r"triton_(red|per|poi|for)_\w*embedding",)),
    ("sampling", (r"triton_(red|per|poi|for)_\w*(argmax|multinomial)",)),
    ("reduction", (r"triton_(red|per)_",)),
    ("elementwise", (r"triton_(poi|for)_", r"rotary", r"(?<![a-z])m?rope(?![a-z])", r"apply_?rope")),
    # the cache of an engine: csrc/cache_kernels.cu, sgl-kernel, llama.cpp's set_rows
    ("copy", (
        r"reshape_and_cache", r"store_?kv_?cache", r"concat_and_cache", r"set_mla_kv_buffer", r"(copy|swap)_blocks",
        r"set_kv_buffer", r"gather_\w*cache", r"append_?paged_?kv", r"kv_?cache_?(copy|scatter|transfer)",
        r"transfer_kernel_impl",
    )),
    ("norm", (
        r"(rms|layer|group|batch|instance|l2)_?norm", r"rmsnorm", r"(?<![a-z])norm_(f32|fwd|kernel)", r"add_norm",
        r"batch_norm", r"ln_(fwd|parallel)", r"cunn_layer", r"qk_?norm",
    )),
    ("attention", (
        # FlashAttention 2 and 3, xFormers, cuDNN, TensorRT-LLM, FlashInfer
        r"flash_(fwd|attn|bwd|mla|decod|prefill)", r"flash::", r"flashattn", r"fmha", r"mha_(fwd|bwd|varlen)",
        r"masked_multihead", r"memeffattention", r"efficient_attention", r"attentionkernel",
        r"cudnn.*(sdpa|flash|attention)", r"sdpa",
        r"batch(prefill|decode)with", r"single(prefill|decode)with", r"(persistent)?variablelengthmerge",
        r"mergestate", r"merge_(attn_)?state", r"batchmla", r"xqa", r"batch_?pod",
        # vLLM, SGLang, aiter, Composable Kernel, llama.cpp
        r"paged_?attention", r"unified_attention", r"_fwd_grouped_kernel", r"_fwd_kernel_stage[12]", r"attn_fwd",
        r"prefix_prefill", r"context_attention", r"extend_attention", r"decode_att", r"_fwd_kernel\b",
        r"(?<![a-z])mla_", r"_mla\b", r"mla_(decode|prefill|a8w8|a16w16)", r"kernel_mla", r"sparse_attn",
        r"(?<![a-z])pa_(fwd|decode|bf16|prefill|reduce|mqa)", r"fwdsplitkv", r"flash_attn_ext", r"kn_(mla|get_mla)",
        r"topk_transform", r"mqa_logits", r"linear_attention",
        # states that take attention's place: Mamba, gated delta networks
        r"selective_scan", r"causal_conv1d", r"chunk_(scan|state|gated|fwd|local|delta)", r"ssd_|_ssm_",
        r"state_passing", r"gated_delta", r"delta_rule", r"ssm_(scan|conv)", r"selective_state_update",
    )),
    ("sampling", (
        r"(?<!up)(?<!down)sampl(ing|e)", r"argmax", r"topktopp", r"top_?[kp]_?(mask|renorm|top)", r"multinomial",
        r"penalt",
        r"gathertopk", r"sbtopk", r"mbtopk", r"radixfindkth", r"bitonicsort", r"radix_?sort", r"segmented_?sort",
        r"argsort",
        r"distribution_elementwise", r"exponential_kernel", r"rejection", r"eagle", r"spec(ulative)?_",
        r"logits_process", r"min_p(?![a-z])", r"apply_token_bitmask",
    )),
    # activations are quantised by kernels of their own; products of quantised numbers say what they are further down
    ("elementwise", (
        r"(?<!de)(?<!_)quant(ize)?_(kernel|q8_1|mmq|fp8|fp4|per|mxfp|transpose)", r"quantize_q", r"scaled_fp8_quant",
        r"per_(token|tensor)_(group_)?quant",
        r"(static|dynamic)_(scaled_)?(int8|fp8|per)\w*quant", r"cvt_fp16_to_fp4", r"cvt_fp16_to_fp8",
        r"dequantize_block", r"convert_unary", r"silu_and_mul_\w*quant", r"dynamicquantize", r"quant_?kernel",
    )),
    ("gemm", (
        # cuBLAS, cuBLASLt, CUTLASS; rocBLAS, hipBLASLt (Tensile: Cijk_), Composable Kernel, MIOpen's products
        r"nvjet", r"gemm", r"gemv", r"cijk_", r"hipblaslt", r"splitk_?reduce", r"cublas", r"xmma", r"matmul",
        r"wgrad|dgrad|implicit_convolve|conv(2d|olution)_?fwd|winograd|fprop",
        r"(ampere|volta|turing|hopper|maxwell)_\w*(gcgemm|s\d+)",
        # quantised weights: Marlin, Machete, AWQ, GPTQ, bitsandbytes, llama.cpp
        r"marlin", r"machete", r"mul_mat", r"mmq|mmvq|mmvf", r"awq", r"gptq", r"exl[23]", r"kdequantizeblockwise",
        r"wvsplitk", r"llmm1", r"scaled_mm", r"_mm_kernel", r"(?<![a-z])(mm|bmm|addmm|linear)_kernel", r"qmm|qmv",
        r"dot_kernel", r"cutlass::kernel2", r"cutlass::device_kernel", r"fp8_block_scaled", r"cutlass_\w*tensorop",
    )),
    ("activation", (
        r"silu", r"gelu", r"swiglu", r"act_and_mul", r"activation", r"relu", r"gated_op", r"sigmoid_kernel",
        r"tanh_kernel",
    )),
    ("embedding", (r"embedding", r"indexselect", r"vectorized_gather", r"get_rows")),
    ("copy", (
        r"catarray", r"copy_kernel", r"copyfunctor", r"(?<![a-z])cpy_", r"set_rows", r"concat_", r"batched_transpose",
        r"copy_?device_?to_?device", r"copybuffer", r"_copy_kernel", r"memcpy",
    )),
    ("memset", (r"fillfunctor", r"memset", r"fill_kernel", r"fillbuffer")),
    ("reduction", (
        r"reduce_?kernel", r"reduce_?rows", r"soft_?max", r"scan", r"cumsum", r"(device|block)_?reduce", r"sum_rows",
    )),
    ("elementwise", (
        r"elementwise", r"subtensorop", r"bin_bcast", r"unary_op", r"binary_op", r"scale_f32", r"index_\w*kernel",
        r"scatter", r"gather", r"where_kernel", r"multi_tensor_apply", r"arange", r"clamp", r"k_repeat", r"dropout",
    )),
)  # fmt: skip
_ROWS = tuple((family, re.compile("|".join(patterns), re.IGNORECASE)) for family, patterns in _FAMILIES)

# The numbers that a matrix product multiplies, where its name says them. Tensile spells types as letters (A and B, C
# and D, compute): https://github.com/ROCm/Tensile/blob/develop/Tensile/DataType.py. nvjet spells them likewise
# (h fp16, t bf16, s fp32, q fp8).
_FORMATS: tuple[tuple[str, str], ...] = (
    # Triton's products of the output's, the activations' and the weights' numbers: these are widened to the second
    ("bf16", r"matmul_ogs_\w*?[a-z]+\d*xbf16x"),
    ("fp16", r"matmul_ogs_\w*?[a-z]+\d*xfp16x"),
    ("fp8", r"matmul_ogs_\w*?[a-z]+\d*x(fp8|e4m3|e5m2)\w*?x"),
    ("mxfp4", r"mxfp4|mx_?fp4"),
    ("nvfp4", r"nvfp4|block_?scaled_?fp4|e2m1"),
    ("fp8", r"e4m3|e5m2|fp8(?!kvcache)|f8f8|nvjet_(sm\d+_)?qq|cijk_\w*?_f8|cijk_\w*?_b8"),
    ("int8", r"cijk_\w*?_i8|s8s8|i8i8|imma_|_int8_|w8a8"),
    ("bf16", r"bf16|bfloat16|nvjet_(sm\d+_)?ts?t|cijk_\w*?_b[bs]s_"),
    ("fp16", r"fp16|f16f16|float16|half|hgemm|h(884|1688|16816)|nvjet_(sm\d+_)?hs?h|cijk_\w*?_h[hs]s_|cijk_\w*?_hb_"),
    ("fp32", r"sgemm|f32f32_f32f32|tf32|cijk_\w*?_sb_|cijk_\w*?_ss_bh|nvjet_(sm\d+_)?ss?s"),
)
_FORMAT_ROWS = tuple((form, re.compile(pattern, re.IGNORECASE)) for form, pattern in _FORMATS)
# Operators whose kernels multiply matrices, in a format that matters.
MULTIPLYING = ("gemm", "attention", "moe")
_MOVED_BY_ENGINES = re.compile(r"\W*(?:CUDA |HIP )?mem(?:cpy|set)", re.IGNORECASE)
# Names of templates run to tens of kilobytes; what a kernel is stands at the front.
_MOST = 2000


@functools.lru_cache(maxsize=1 << 14)
def operator(name: str) -> str:
    """Which family a kernel is of: operator("nvjet_tst_64x8") == "gemm"; "other" where the name does not say.

    gemm, attention, norm, activation, embedding, sampling, moe, communication, copy, memset, elementwise, reduction.
    Rotary embeddings and quantising count as elementwise, writing to the KV cache as copying.
    """
    head = name[:_MOST]
    return next((family for family, row in _ROWS if row.search(head)), "other")


@functools.lru_cache(maxsize=1 << 14)
def number_format(name: str) -> str | None:
    """The format that a matrix product multiplies, None where its name does not say: "bf16" of "nvjet_tst_64x8"."""
    head = name[:_MOST]
    return next((form for form, row in _FORMAT_ROWS if row.search(head)), None)


def moved_by_engines(name: str) -> bool:
    """Whether it is a copy or fill that a device's copy engines may do, no kernel: "[CUDA memset]", "Memcpy DtoH"."""
    return _MOVED_BY_ENGINES.match(name) is not None
