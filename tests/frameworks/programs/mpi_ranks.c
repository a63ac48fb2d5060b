/* Says whether MPI's own ranks are those of OMPI_COMM_WORLD_*, and whether its sum over
 * all ranks is right. Rank 0 prints the ranks, and last the verdict. For any MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { max_ranks = 64, host_length = 64 };

static int number(const char* name) {
    const char* text = getenv(name);
    return text != NULL ? atoi(text) : -1;
}

static int sum(int value) {
    int total = 0;
    MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return total;
}

/* How many of the first ranks are on the host of this one. */
static int on_same_host(char hosts[][host_length], int ranks, int rank) {
    int count = 0;
    for (int i = 0; i < ranks; ++i) count += strcmp(hosts[i], hosts[rank]) == 0;
    return count;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > max_ranks) MPI_Abort(MPI_COMM_WORLD, 2);
    char host[host_length] = "", hosts[max_ranks][host_length];
    gethostname(host, sizeof host - 1);
    MPI_Allgather(host, host_length, MPI_CHAR, hosts, host_length, MPI_CHAR, MPI_COMM_WORLD);

    const int equal =
        sum(number("OMPI_COMM_WORLD_RANK") == rank && number("OMPI_COMM_WORLD_SIZE") == size &&
            number("OMPI_COMM_WORLD_LOCAL_RANK") == on_same_host(hosts, rank, rank) &&
            number("OMPI_COMM_WORLD_LOCAL_SIZE") == on_same_host(hosts, size, rank));
    const int total = sum(rank + 1);
    if (rank == 0) {
        printf("rank  host         local\n");
        for (int i = 0; i < size; ++i) {
            printf("%4d  %-12s %5d\n", i, hosts[i], on_same_host(hosts, i, i));
        }
        printf("%d of %d ranks are those of the variables, sum %d\n", equal, size, total);
        fflush(stdout);
    }
    const int failed = equal != size || total != size * (size + 1) / 2;
#ifdef MPICH_VERSION
    /* MPICH 4.0 with UCX over TCP hangs in MPI_Finalize now and then, under any launcher. */
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(failed);
#endif
    MPI_Finalize();
    return failed;
}
