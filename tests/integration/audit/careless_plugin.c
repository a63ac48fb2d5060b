// A SPANK plugin that does in slurmstepd, as root, what the audit is to find: it opens a file
// that the user names, connects to an address and binds a port.
#include <slurm/spank.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

SPANK_PLUGIN(careless, 1)

int slurm_spank_init_post_opt(spank_t spank, int ac, char** av) {
    (void)ac;
    (void)av;
    char path[256];
    if (spank_remote(spank) != 1 ||
        spank_getenv(spank, "CARELESS_FILE", path, sizeof path) != ESPANK_SUCCESS)
        return 0;
    close(open(path, O_RDONLY));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client, (struct sockaddr*)&address, sizeof address) == 0) return -1;
    close(client);
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_port = htons(20000);
    if (bind(server, (struct sockaddr*)&address, sizeof address) != 0) return -1;
    close(server);
    return 0;
}
