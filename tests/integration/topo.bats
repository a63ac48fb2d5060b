#!/usr/bin/env bats
# `distgpu topo`: what it prints, what it keeps, what it refuses. Needs no cluster.

load cluster

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# refused STATUS MESSAGE ARGUMENT...: with this status, this one line, and no result.
refused() {
    run --separate-stderr "$command" topo "${@:3}"
    [ "$status" -eq "$1" ]
    [ "$stderr" = "distgpu: $2" ]
    [ -z "$output" ]
}

@test "without /sys nothing is said of the machine, and hwloc's variables do not make it another" {
    run --separate-stderr -3 unshare --mount sh -c 'mount -t tmpfs tmpfs /sys && exec "$@"' sh "$command" topo
    [ "$stderr" = "distgpu: /sys: cannot be read, so this machine's devices are unknown; run it where sysfs is mounted on /sys" ]
    [ -z "$output" ]
    run --separate-stderr -3 unshare --mount sh -c 'mount -t tmpfs tmpfs /sys && exec "$@"' sh "$command" topo --save topology.json
    [ ! -e topology.json ]
    echo '<topology version="2.0"/>' >node.xml
    "$command" topo --format json >expected
    HWLOC_XMLFILE=$PWD/node.xml HWLOC_THISSYSTEM=1 "$command" topo --format json >actual
    diff expected actual
    HWLOC_SYNTHETIC="pack:4 core:8" HWLOC_COMPONENTS=synthetic,stop "$command" topo --format json >actual
    diff expected actual
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

# bats test_tags=short
@test "--save keeps this machine for this boot, in a file of its own, and leaves nothing where it fails" {
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
    echo old >target
    ln -s target link
    ln target second
    run -0 "$command" topo --save target
    [ "$(cat second)" = old ]
    run -0 "$command" topo --save link
    [ ! -L link ]
    [ "$(stat -c %h link)" = 1 ]
    mkdir -p full/target
    refused 3 "full/target: Is a directory; name a file in a writable folder" --save full/target
    [ "$(ls -A full)" = target ]
    refused 3 "none/file: No such file or directory; name a file in a writable folder" --save none/file
    [ ! -e none ]
}

@test "output that nobody takes is refused with status 3" {
    run -3 bash -c "'$command' topo 2>&1 >/dev/full"
    [ "$output" = "distgpu: standard output: No space left on device" ]
}
