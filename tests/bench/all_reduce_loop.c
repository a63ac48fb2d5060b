/* A plain loop of MPI_Allreduce, for comparison with nccl-scaling --backend mpi.
 *
 *     mpirun -np N all_reduce_loop ITERATIONS WARMUP BYTES...
 *
 * For each size rank 0 prints "BYTES SECONDS" as nccl-tests counts: the time of the whole loop by
 * the number of iterations, averaged over the ranks; of float32 sums out of place. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* By the allocator that nccl-scaling uses, and one for all sizes: where a buffer lies changes the
 * speed. Written once: until then all pages are one page of zeros, which would stay in the cache
 * whatever the size. */
static float* filled(size_t bytes) {
    float* values = NULL;
    MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, (void*)&values);
    for (size_t i = 0; i < bytes / sizeof *values; ++i) values[i] = 1;
    return values;
}

/* Seconds of one of the iterations, which follow each other without a barrier. */
static double measure(const float* from, float* to, size_t bytes, int warmup, int iterations) {
    const int count = (int)(bytes / sizeof *from);
    double begin = 0;
    double own = 0;
    double all = 0;
    int ranks = 0;
    for (int i = -warmup; i < iterations; ++i) {
        if (i == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            begin = MPI_Wtime();
        }
        MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    own = MPI_Wtime() - begin;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return all / ranks / iterations;
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
    float* const from = filled(largest(argc - 3, argv + 3));
    float* const to = filled(largest(argc - 3, argv + 3));
    for (int i = 3; i < argc; ++i) {
        const size_t bytes = strtoull(argv[i], NULL, 10);
        const double seconds = measure(from, to, bytes, atoi(argv[2]), iterations);
        if (rank == 0) printf("%zu %.9f\n", bytes, seconds);
    }
    MPI_Free_mem(from);
    MPI_Free_mem(to);
    return MPI_Finalize();
}
