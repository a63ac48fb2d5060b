// A port below a made-up /sys, as a healthy one looks.
#pragma once

#include "made_up_folder.h"
#include "node/machine.h"

#include <string>

namespace distgpu::scaling {

class MadeUpPort {
  public:
    // `port`: "mlx5_3/ports/1".
    explicit MadeUpPort(std::string port) : folder_("sys/class/infiniband/" + port) {
        write("state", "4: ACTIVE");
        write("rate", "400 Gb/sec (4X NDR)");
        write("link_layer", "InfiniBand");
        for (const char* counter :
             {"symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors",
              "port_rcv_remote_physical_errors", "port_xmit_discards",
              "local_link_integrity_errors", "excessive_buffer_overrun_errors"}) {
            count(counter, 7);  // from earlier jobs
        }
    }

    MachineRoots roots() const { return {root_.path("proc"), root_.path("sys")}; }

    void write(const std::string& file, const std::string& text) const {
        root_.write(folder_ + "/" + file, text + "\n");
    }
    void count(const std::string& counter, unsigned value) const {
        write("counters/" + counter, std::to_string(value));
    }

  private:
    MadeUpFolder root_;
    std::string folder_;
};

}  // namespace distgpu::scaling
