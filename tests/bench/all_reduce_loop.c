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

static void measure(size_t bytes, int warmup, int iterations, double* own, double* slowest) {
    const int count = (int)(bytes / sizeof(float));
    float* const from = calloc((size_t)count, sizeof *from);
    float* const to = calloc((size_t)count, sizeof *to);
    for (int i = -warmup; i < iterations; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (i >= 0) own[i] = MPI_Wtime() - begin;
    }
    MPI_Reduce(own, slowest, iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    free(from);
    free(to);
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
    for (int i = 3; i < argc; ++i) {
        const size_t bytes = strtoull(argv[i], NULL, 10);
        measure(bytes, atoi(argv[2]), iterations, own, slowest);
        if (rank == 0) printf("%zu %.9f\n", bytes, median(slowest, iterations));
    }
    free(own);
    free(slowest);
    return MPI_Finalize();
}
