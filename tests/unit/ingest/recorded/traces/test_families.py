"""Which operator a kernel is of: names as profilers print them."""

from __future__ import annotations

import pytest

from rooflight.ingest.recorded.traces.families import number_format, operator

NAMES = {
    "gemm": (
        "nvjet_tst_64x8_64x16_4x1_v_bz_TNT",
        "nvjet_sm100_qqtst_128x64_128x6_2x1_v_bz_TNT",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel",
        "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
        "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(cutlass_80::Par",
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, cutlass::",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, true, false, fa",
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16>",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64_MI16x16x1_SN",
        "void marlin::Marlin<__half, 1125899907892224l, 256, 1, 8, 8, false, 4, -1, false>(int4 const*)",
        "void machete::machete_mm_kernel<half_t>",
        "void wvSplitK_hf_sml_<__hip_bfloat16, 64, 2, 16, 8, 2, 4>(int, int, __hip_bfloat16 const*)",
        "void ck::kernel_gemm_xdl_cshuffle_v3_multi_d_b_preshuffle<ck::GridwiseGemmMultiD_blockscale_xdl_cshuffle_v3>",
        "void mul_mat_vec_q<(ggml_type)12, 1, false>(void const*, void const*, int const*)",
        "void mul_mat_q<(ggml_type)8, 64, true>(char const*, int const*, int const*)",
        "_w8a8_block_fp8_matmul",
        "triton_tem_fused_mm_3",
        "void deep_gemm::fp8_gemm_kernel<4096u, 7168u, 128u, 128u>",
    ),
    "attention": (
        "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::bfloat16_t>>",
        "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFw",
        "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::Par",
        "fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64VarSeqQ128Kv128Persistent",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_1x1x1_kernel0_0",
        "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 8u, 16u, 8u>",
        "void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1>>",
        "void vllm::paged_attention_v2_kernel<__nv_bfloat16, __nv_bfloat16, 128, 16, 128>",
        "void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, __hip_bfloat16, 128, 128, 256, 3, false>",
        "kernel_unified_attention_2d",
        "_fwd_grouped_kernel_stage1",
        "void flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576, 64, 64, 8>>",
        "_ZN5aiter33mla_a16w16_bf16_mqa16_ps_pageE",
        "void flash_attn_ext_f16<128, 128, 8, 4, false, false>(char const*, char const*)",
        "_ZN5aiter38fmha_fwd_hd128_bf16_causal_rtne_groupE",
        "_attn_fwd",
    ),
    "communication": (
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_AllReduce_RING_LL_Sum_half(ncclDevComm*, unsigned long, ncclWork*)",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)",
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(AllReduceFusionPattern)1>",
        "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, int*)",
        "void deep_ep::internode_ll::combine<true, 7168, 9>(void*, void*)",
        "multimem_all_reduce_kernel",
        "ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16(ncclSymkDevWorkArgs4K)",
        "void rcclGenericKernel<1, false>(ncclDevComm*)",
        "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half>>",
    ),
    "norm": (
        "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)",
        "void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*)",
        "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib",
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float)",
        "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0",
        "void tensorrt_llm::kernels::fusedQKNormRopeKernel<128, true>(__nv_bfloat16*, int)",
        "void rms_norm_f32<1024, true, false>(float const*, float*)",
    ),
    "activation": (
        "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16",
        "triton_poi_fused_mul_silu_1",
        "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, G",
    ),
    "moe": (
        "fused_moe_kernel",
        "void vllm::moe::topkGatingSoftmax<8, 128, 4, 16, 32, int>(float const*, bool const*, float*)",
        "void vllm::moe::moe_align_block_size_kernel<int>(int*, int*)",
        "void marlin_moe_wna16::Marlin<__nv_bfloat16, 1125899907892224l, 256, 1>",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu",
        "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x8x512u2_s6_et128x8_m128x8x32_cga1x1x1_rM_TN_clmp_swiGlu_dynBatch_sm100f",
        "_ZN5aiter50fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256E",
        "void mul_mat_id_q<(ggml_type)39>",
        "void topk_moe_cuda<128, true>(float const*, float*, int*)",
        "_fwd_kernel_ep_scatter_1",
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<int>>>",
    ),
    "copy": (
        "Memcpy DtoH (Device -> Pinned)",
        "[CUDA memcpy Host-to-Device]",
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>",
        "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>",
        "__amd_rocclr_copyBuffer",
    ),
    "memset": ("Memset (Device)", "[CUDA memset]", "__amd_rocclr_fillBufferAligned"),
    "sampling": (
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned i",
        "void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u>",
        "void at::native::radixSortKVInPlace<-2, -1, 32, 32, float, long, unsigned int>",
    ),
    "embedding": ("void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned>",),
    "elementwise": (
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*)",
        "void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheHeadParallelismKernel<(bool)0, (unsigned int)128>",
        "triton_poi_fused__to_copy_1",
        "void quantize_q8_1(float const*, void*, long, long)",
        "void vllm::dynamic_per_token_scaled_fp8_quant_kernel_strided<c10::BFloat16, c10::Float8_e4m3fn>",
        "void per_token_group_quant_8bit_kernel<c10::BFloat16, c10::Float8_e4m3fn, true, false, float>",
        "void rope_neox<true, false, float>(float const*, float*, int)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<ch",
    ),
    "reduction": (
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float,",
        "triton_red_fused_sum_2",
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false, false>",
    ),
    "other": ("create_flashinfer_kv_indices_triton", "spin", ""),
}  # fmt: skip


@pytest.mark.parametrize(("family", "name"), [(family, name) for family, names in NAMES.items() for name in names])
def test_a_kernel_is_of_the_operator_that_its_name_says(family, name):
    assert operator(name) == family


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "bf16"),
        ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT", "fp16"),
        ("nvjet_sm100_qqtst_128x64_128x6_2x1_v_bz_TNT", "fp8"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "bf16"),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>", "fp32"),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64_MI16x16x1", "bf16"),
        ("Cijk_Alik_Bljk_HHS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64", "fp16"),
        ("Cijk_Alik_Bljk_SB_MT64x64x16_MI32x32x1", "fp32"),
        ("Cijk_Alik_Bljk_F8BS_BH_Bias_HAS_SAB_SAV_UserArgs_MT128x128x128", "fp8"),
        ("_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu", "bf16"),
        ("kernel_unified_attention_2d", None),
    ],
)
def test_a_name_says_the_numbers_that_are_multiplied(name, form):
    assert number_format(name) == form


def test_a_name_of_a_megabyte_is_told_by_its_front():
    assert operator("void flash_fwd_kernel<" + "x" * 1_000_000) == "attention"
