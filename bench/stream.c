/* STREAM's copy and triad and a read-only sum, over a private piece of memory a thread, many passes a call.
   measure_truth.py compiles it, with sums in any order but not with -ffast-math, which lets a library that is loaded
   turn subnormal numbers off for the whole process.
   The figures that `rooflight measure` is held against; see measure_truth.py. */
#include <omp.h>
#include <stdlib.h>

static float *pieces[3][256];
static volatile float sink;

/* length: floats of each array of a thread. Arrays begin some lines apart, so that none hinders another. */
void make(int threads, long length) {
#pragma omp parallel num_threads(threads)
    {
        int t = omp_get_thread_num();
        for (int k = 0; k < 3; k++) {
            float *raw;
            if (posix_memalign((void **)&raw, 4096, sizeof(float) * (length + 4096)))
                abort();
            pieces[k][t] = raw + 272 * k;
            for (long i = 0; i < length; i++)
                pieces[k][t][i] = 1.0f;
        }
    }
}

/* Seconds of a pass of all threads. kernel: 0 read, 1 copy, 2 triad. */
double run(int threads, int kernel, long length, long passes) {
    double start = omp_get_wtime();
#pragma omp parallel num_threads(threads)
    {
        int t = omp_get_thread_num();
        float *restrict a = pieces[0][t], *restrict b = pieces[1][t], *restrict c = pieces[2][t];
        float total = 0.0f;
        for (long p = 0; p < passes; p++) {
            if (kernel == 0) {
                float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
                long quarter = length / 4;
                for (long i = 0; i < quarter; i++) {
                    s0 += a[i];
                    s1 += a[quarter + i];
                    s2 += a[2 * quarter + i];
                    s3 += a[3 * quarter + i];
                }
                total += s0 + s1 + s2 + s3;
            } else if (kernel == 1) {
                for (long i = 0; i < length; i++)
                    a[i] = b[i];
            } else {
                for (long i = 0; i < length; i++)
                    a[i] = b[i] + 0.5f * c[i];
            }
            __asm__ volatile("" ::: "memory");
        }
        if (t == 0)
            sink = total;
    }
    return (omp_get_wtime() - start) / passes;
}
