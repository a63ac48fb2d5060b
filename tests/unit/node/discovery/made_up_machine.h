// A machine for live discovery: a folder that looks like its / to hwloc, whose test suite uses
// HWLOC_FSROOT for the same. Two packages of two cores; NUMA node 2 is memory without CPUs, nearer
// to node 1.
#pragma once

#include "base/format.h"
#include "made_up_folder.h"
#include "node/machine.h"

#include <cstdlib>
#include <filesystem>
#include <string>

namespace distgpu {

class MadeUpMachine {
  public:
    MadeUpMachine() {
        setenv("HWLOC_FSROOT", folder_.path().c_str(), 1);
        // Without it hwloc asks the processor of the machine that runs the test.
        setenv("HWLOC_COMPONENTS", "linux,stop", 1);
        for (const char* list : {"online", "possible", "present"}) {
            write(formatted("sys/devices/system/cpu/{}", list), "0-3");
        }
        for (unsigned cpu = 0; cpu < 4; ++cpu) add_cpu(cpu);
        for (const char* list : {"online", "possible"}) {
            write(formatted("sys/devices/system/node/{}", list), "0-2");
        }
        add_numa_node(0, 0b0011, "10 20 80");
        add_numa_node(1, 0b1100, "20 10 40");
        add_numa_node(2, 0, "80 40 10");
        write("proc/meminfo", "MemTotal: 3000000 kB");
        write("proc/cpuinfo", "processor : 0");
        write("proc/mounts", "");
    }
    ~MadeUpMachine() {
        unsetenv("HWLOC_FSROOT");
        unsetenv("HWLOC_COMPONENTS");
    }
    MadeUpMachine(const MadeUpMachine&) = delete;
    MadeUpMachine& operator=(const MadeUpMachine&) = delete;
    MadeUpMachine(MadeUpMachine&&) = delete;
    MadeUpMachine& operator=(MadeUpMachine&&) = delete;

    MachineRoots roots() const { return {folder_.path("proc"), folder_.path("sys")}; }

    void write(const std::string& file, const std::string& text) const {
        folder_.write(file, text + "\n");
    }

    // `numa` -1: Linux knows no node.
    void add_pci(const std::string& address, const std::string& pci_class,
                 const std::string& vendor, int numa) const {
        const std::string device = "sys/bus/pci/devices/" + address;
        constexpr const char* cpus[] = {"0000000f", "00000003", "0000000c", "00000000"};
        write(device + "/class", "0x" + pci_class);
        write(device + "/vendor", "0x" + vendor);
        write(device + "/device", "0x1234");
        write(device + "/local_cpus", cpus[numa + 1]);
        write(device + "/numa_node", std::to_string(numa));
    }

    // A PCI bridge to the buses `first` .. `last`, which are bytes of its configuration space.
    void add_bridge(const std::string& address, char first, char last, int numa) const {
        add_pci(address, "060400", "1022", numa);
        std::string config(64, '\0');
        config[0x0e] = 1;  // a bridge's header
        config[0x19] = first;
        config[0x1a] = last;
        folder_.write("sys/bus/pci/devices/" + address + "/config", config);
    }

    // Its folder, which sys/class/infiniband links to, as in Linux.
    std::string add_infiniband(const std::string& name, const std::string& address) const {
        const std::string below_sys =
            formatted("devices/pci0000:00/{}/infiniband/{}", address, name);
        write(formatted("sys/{}/node_guid", below_sys), "0000:0000:0000:0000");
        std::filesystem::create_directories(folder_.path("sys/class/infiniband"));
        std::filesystem::create_directory_symlink("../../" + below_sys,
                                                  folder_.path("sys/class/infiniband/" + name));
        return "sys/" + below_sys;
    }

  private:
    void add_cpu(unsigned cpu) const {
        const std::string folder = formatted("sys/devices/system/cpu/cpu{}/", cpu);
        write(folder + "online", "1");
        write(folder + "topology/core_id", std::to_string(cpu % 2));
        write(folder + "topology/physical_package_id", std::to_string(cpu / 2));
        write(folder + "topology/thread_siblings", formatted("{:08x}", 1U << cpu));
        write(folder + "topology/core_siblings", formatted("{:08x}", 3U << cpu / 2 * 2));
    }

    void add_numa_node(unsigned node, unsigned cpus, const std::string& distances) const {
        const std::string folder = formatted("sys/devices/system/node/node{}/", node);
        write(folder + "cpumap", formatted("{:08x}", cpus));
        write(folder + "distance", distances);
        write(folder + "meminfo", formatted("Node {} MemTotal: 1000000 kB", node));
    }

    MadeUpFolder folder_;
};

}  // namespace distgpu
