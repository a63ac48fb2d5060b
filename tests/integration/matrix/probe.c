// One task of the launch-shape matrix: prints what it was given as one line of
// NAME=VALUE words, then waits until all tasks of its step have started, as
// training does: slurmctld forgets a component of a heterogeneous step that has
// ended, and a later one is then refused. In C, as two thousand are started.
// Usage: probe [COMPONENT], the number of its part of a heterogeneous step.
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char names[] =
    "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK GROUP_RANK GROUP_WORLD_SIZE "
    "MASTER_ADDR MASTER_PORT SLURM_PROCID SLURM_LOCALID SLURM_NODEID "
    "SLURM_STEP_NUM_TASKS SLURM_JOB_ID SLURM_STEP_ID";

// The IPv4 address of eth0, or "none".
static void read_address(char text[INET_ADDRSTRLEN]) {
    struct ifaddrs* all = NULL;
    strcpy(text, "none");
    if (getifaddrs(&all) != 0) return;
    for (const struct ifaddrs* each = all; each != NULL; each = each->ifa_next) {
        if (each->ifa_addr == NULL || each->ifa_addr->sa_family != AF_INET) continue;
        if (strcmp(each->ifa_name, "eth0") != 0) continue;
        const struct sockaddr_in* address = (const struct sockaddr_in*)each->ifa_addr;
        inet_ntop(AF_INET, &address->sin_addr, text, INET_ADDRSTRLEN);
    }
    freeifaddrs(all);
}

// Each task adds a byte to a file of the step in the current folder, which all
// nodes share, until there is one for each task; 5 s at most.
static void wait_for_all(void) {
    const char* job = getenv("SLURM_JOB_ID");
    const char* step = getenv("SLURM_STEP_ID");
    const char* tasks = getenv("SLURM_STEP_NUM_TASKS");
    char name[64];
    if (job == NULL || step == NULL || tasks == NULL) return;
    snprintf(name, sizeof(name), "started-%s.%s", job, step);
    const int file = open(name, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (file < 0 || write(file, "", 1) != 1) return;
    const struct timespec pause = {0, 2000000};
    struct stat state;
    for (int i = 0; i < 2500; ++i) {
        if (fstat(file, &state) != 0 || state.st_size >= atol(tasks)) return;
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char** argv) {
    char host[256] = "";
    char address[INET_ADDRSTRLEN];
    char line[4096];
    gethostname(host, sizeof(host) - 1);
    read_address(address);
    size_t used = (size_t)snprintf(line, sizeof(line), "task HOST=%s ADDRESS=%s COMPONENT=%s", host,
                                   address, argc > 1 ? argv[1] : "0");
    for (const char* name = strtok(names, " "); name != NULL; name = strtok(NULL, " ")) {
        const char* value = getenv(name);
        if (value == NULL) continue;
        used += (size_t)snprintf(line + used, sizeof(line) - used, " %s=%s", name, value);
        if (used >= sizeof(line) - 1) return 1;
    }
    line[used++] = '\n';
    if (write(STDOUT_FILENO, line, used) != (ssize_t)used) return 1;
    wait_for_all();
    return 0;
}
