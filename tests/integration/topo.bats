#!/usr/bin/env bats
# `distgpu topo`: what it prints, what it keeps, what it refuses. Needs no cluster.
# shellcheck disable=SC2154 # set by cluster.bash and bats

load cluster

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# refused STATUS MESSAGE ARGUMENT...: with this status, this one line, and no result.
refused() {
    local expected=$1 message=$2
    shift 2
    run --separate-stderr "$command" topo "$@"
    [ "$status" -eq "$expected" ]
    [ "$stderr" = "distgpu: $message" ]
    [ -z "$output" ]
}

# Two GPUs of which one is divided and one says nothing of itself, two HCAs, two ports.
write_topology() {
    cat >node.json <<'JSON'
{"schema": "distgpu.topo/1", "host": "node07", "source": "live",
"numa": [{"id": 0, "cpus": "0-3"}, {"id": 8, "cpus": "4-7"}],
"cores": [{"cpus": "0-3", "numa": 0, "package": 0}, {"cpus": "4-7", "numa": 8, "package": 1}],
"gpus": [
{"index": 0, "pci": "0000:06:00.0", "partition": 0, "vendor": "nvidia", "model": "NVIDIA H200",
 "uuid": "GPU-6", "numa": 8, "cpus": "4-7", "mig": [{"uuid": "MIG-1", "profile": "1g.18gb"}]},
{"index": 1, "pci": "0000:16:00.0", "partition": 0, "vendor": "nvidia", "mig": []}],
"hcas": [
{"name": "mlx5_0", "pci": "0000:05:00.0", "kind": "verbs", "numa": 8, "cpus": "4-7", "ports": [
 {"port": 1, "state": "active", "link": "infiniband", "gbps": 400},
 {"port": 2, "state": "active", "link": "ethernet", "gbps": 25}]},
{"name": "mlx5_10", "kind": "verbs", "ports": [{"port": 1, "state": "down"}]}],
"distance": [["PIX", "SYS"], ["NODE", "PHB"]]}
JSON
}

@test "without /sys nothing is said of the machine, and hwloc says nothing either" {
    run --separate-stderr -3 unshare --mount sh -c 'mount -t tmpfs tmpfs /sys && exec "$@"' sh "$command" topo
    [ "$stderr" = "distgpu: /sys: cannot be read, so that nothing is known of this machine's devices; run it where sysfs is mounted on /sys" ]
    [ -z "$output" ]
    run --separate-stderr -3 unshare --mount sh -c 'mount -t tmpfs tmpfs /sys && exec "$@"' sh "$command" topo --save topology.json
    [ ! -e topology.json ]
}

@test "the table says who is near whom, and which ports are eligible" {
    write_topology
    run -0 "$command" topo --topology node.json
    diff - <(echo "$output") <<'TABLE'
      NIC0  NIC1  CPU Affinity  NUMA Affinity
GPU0  PIX   SYS   4-7           8
GPU1  NODE  PHB   N/A           N/A

Legend:

  PIX  = across one PCI bridge at most
  PXB  = across several PCI bridges, not through the CPU
  PHB  = through a PCI host bridge, that is through the CPU
  NODE = through two host bridges of one NUMA node
  SYS  = between NUMA nodes

GPU Legend:

  GPU0:  0000:06:00.0  NVIDIA H200    GPU-6
                         MIG 1g.18gb  MIG-1
  GPU1:  0000:16:00.0  N/A            N/A

NIC Legend:

  NIC0:  mlx5_0   0000:05:00.0  port 1  ACTIVE  InfiniBand  400 Gb/s  eligible
  NIC0:  mlx5_0   0000:05:00.0  port 2  ACTIVE  Ethernet    25 Gb/s   not eligible: 25 Gb/s beside 400 Gb/s
  NIC1:  mlx5_10  N/A           port 1  DOWN    N/A         N/A       not eligible: down
TABLE
}

@test "a machine without either says so" {
    cat >node.json <<'JSON'
{"schema": "distgpu.topo/1", "numa": [{"id": 0, "cpus": "0"}],
"cores": [{"cpus": "0", "numa": 0, "package": 0}], "gpus": [], "hcas": [], "distance": []}
JSON
    run -0 "$command" topo --topology node.json
    [ "$output" = "no GPU and no HCA here; for a compute node: srun -N1 --gres=gpu:1 distgpu topo" ]
}

@test "JSON that it printed is read as the same machine" {
    write_topology
    "$command" topo --topology node.json --format json >first.json
    "$command" topo --topology first.json --format json >second.json
    diff first.json second.json
    diff <("$command" topo --topology node.json) <("$command" topo --topology second.json)
}

@test "a text in the file does not steer the terminal" {
    local all='cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"'
    cat >node.xml <<XML
<topology version="2.0"><object type="Machine" $all allowed_cpuset="0x1" allowed_nodeset="0x1">
<object type="NUMANode" os_index="0" $all/><object type="PU" os_index="0" $all/>
<object type="PCIDev" pci_busid="0000:06:00.0" pci_type="0302 [10de:1] [0:0] 00" pci_link_speed="0">
<info name="PCIDevice" value="H&#9;200"/></object></object></topology>
XML
    run -0 "$command" topo --topology node.xml
    [[ $output == *"GPU0:  0000:06:00.0  H?200"* ]]
}

@test "--save keeps this machine for this boot" {
    mkdir folder
    umask 077
    run -0 "$command" topo --save folder/topology.json
    [ -z "$output" ]
    [ "$(ls -A folder)" = topology.json ]
    [ "$(stat -c %a folder/topology.json)" = 644 ]
    python3 - folder/topology.json <<'PYTHON'
import json
import pathlib
import sys

saved = json.loads(pathlib.Path(sys.argv[1]).read_text())
boot_id = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
devices = pathlib.Path("/sys/bus/pci/devices")
assert saved["machine"]["boot_id"] == boot_id, saved["machine"]
assert saved["machine"]["pci"] == sorted(device.name for device in devices.glob("*"))
assert saved["source"] == "live"
PYTHON
}

@test "--save replaces the file as a whole, and a link itself" {
    echo old >target
    ln -s target link
    ln target second
    run -0 "$command" topo --save target
    [ "$(cat second)" = old ]
    run -0 "$command" topo --save link
    [ ! -L link ]
    [ "$(stat -c %h link)" = 1 ]
}

@test "--save leaves nothing behind where it fails" {
    mkdir -p folder/target
    refused 3 "folder/target: Is a directory; name a file in a writable folder" \
        --save folder/target
    [ "$(ls -A folder)" = target ]
    refused 3 "none/file: No such file or directory; name a file in a writable folder" \
        --save none/file
    [ ! -e none ]
}

@test "hwloc's variables do not make it another machine" {
    echo '<topology version="2.0"/>' >node.xml
    "$command" topo --format json >expected
    HWLOC_XMLFILE=$PWD/node.xml HWLOC_THISSYSTEM=1 "$command" topo --format json >actual
    diff expected actual
    HWLOC_SYNTHETIC="pack:4 core:8" HWLOC_COMPONENTS=synthetic,stop \
        "$command" topo --format json >actual
    diff expected actual
}

@test "wrong usage is refused with status 2" {
    refused 2 "command line: --topology excludes --save; see distgpu topo --help" \
        --save a --topology b
    refused 2 "command line: --format excludes --save; see distgpu topo --help" \
        --save a --format json
    refused 2 "command line: --format: xml not in {table,json}; see distgpu topo --help" --format xml
    refused 2 "command line: not expected: --bogus; see distgpu topo --help" \
        --bogus
    run --separate-stderr -2 "$command"
    [[ $stderr == 'usage: distgpu SUBCOMMAND '*'see distgpu --help, '* ]]
}

@test "--help is on standard output, with status 0" {
    run --separate-stderr -0 "$command" topo --help
    [[ $output == *--topology*--format*--save* ]]
    [ -z "$stderr" ]
}

@test "what is no topology is refused with status 3" {
    local readable="name a file that this user can read"
    local anew="write it again with"
    refused 3 "none: No such file or directory; $readable" --topology none
    refused 3 ": No such file or directory; $readable" --topology ""
    mkfifo fifo
    refused 3 "fifo: not a regular file; name a regular file" --topology fifo
    refused 3 "/dev/zero: not a regular file; name a regular file" --topology /dev/zero
    echo '{"schema": "distgpu.plan/1"}' >plan.json
    refused 3 "plan.json: \"schema\": not distgpu.topo/1; $anew distgpu topo" --topology plan.json
    echo '<topology version="2.0"><object type="Machine"' >truncated.xml
    run --separate-stderr -3 "$command" topo --topology truncated.xml
    # hwloc may have complained before.
    [[ ${stderr_lines[-1]} == "distgpu: truncated.xml: not a topology that hwloc "[23]" reads; $anew lstopo FILE.xml" ]]
}

@test "output that nobody takes is refused with status 3" {
    run -3 bash -c "'$command' topo 2>&1 >/dev/full"
    [ "$output" = "distgpu: standard output: No space left on device" ]
}
