/* A plain loop of MPI_Allreduce, for comparison with nccl-scaling --backend mpi.
 *
 *     mpirun -np N all_reduce_loop ITERATIONS WARMUP BYTES...
 *
 * For each size rank 0 prints "BYTES SECONDS": the median over the iterations of the slowest rank's
 * time, of float32 sums out of place, with a barrier before each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void* left, const void* right) {
    const double a = *(const double*)left;
    const double b = *(const double*)right;
    return (a > b) - (a < b);
}

static double median(double* values, int count) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* By the allocator that nccl-scaling uses, and one for all sizes: where a buffer lies changes the
 * speed. Written once: until then all pages are one page of zeros, which would stay in the cache
 * whatever the size. */
static float* filled(size_t bytes) {
    float* values = NULL;
    MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, (void*)&values);
    for (size_t i = 0; i < bytes / sizeof *values; ++i) values[i] = 1;
    return values;
}

static void measure(const float* from, float* to, size_t bytes, int warmup, int iterations,
                    double* own, double* slowest) {
    const int count = (int)(bytes / sizeof *from);
    for (int i = -warmup; i < iterations; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (i >= 0) own[i] = MPI_Wtime() - begin;
    }
    MPI_Reduce(own, slowest, iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
}

static size_t largest(int count, char** sizes) {
    size_t bytes = 0;
    for (int i = 0; i < count; ++i) {
        const size_t size = strtoull(sizes[i], NULL, 10);
        if (size > bytes) bytes = size;
    }
    return bytes;
}

int main(int argc, char** argv) {
    int rank = 0;
    if (argc < 4) {
        fprintf(stderr, "usage: all_reduce_loop ITERATIONS WARMUP BYTES...\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int iterations = atoi(argv[1]);
    double* const own = calloc((size_t)iterations, sizeof *own);
    double* const slowest = calloc((size_t)iterations, sizeof *slowest);
    float* const from = filled(largest(argc - 3, argv + 3));
    float* const to = filled(largest(argc - 3, argv + 3));
    for (int i = 3; i < argc; ++i) {
        const size_t bytes = strtoull(argv[i], NULL, 10);
        measure(from, to, bytes, atoi(argv[2]), iterations, own, slowest);
        if (rank == 0) printf("%zu %.9f\n", bytes, median(slowest, iterations));
    }
    MPI_Free_mem(from);
    MPI_Free_mem(to);
    free(own);
    free(slowest);
    return MPI_Finalize();
}
