#!/usr/bin/env bats
# `distgpu check-config`: each mistake of a plugstack.conf in one line, and nothing of one that is
# right. Slurm itself says of some that it minds them too.

load cluster

setup_file() {
    # Where Slurm looks up a name without a folder.
    local of_slurm
    of_slurm=$(dirname "$(find /usr/lib /usr/lib64 -name auth_munge.so 2>/dev/null | head -n1)")
    cluster_up --nodes 2 --conf "PluginDir=$of_slurm:/tmp/distgpu-$cluster_name"
}

# A folder that root alone writes and all may enter, with plugins of which one is distgpu's.
setup() {
    folder=$SCRATCH/site
    mkdir "$folder" "$folder/other"
    chmod 755 "$folder" "$folder/other"
    cp "$plugin" "$folder/spank_distgpu.so"
    cp "${plugin%.so}_step.so" "$folder/spank_distgpu_step.so"
    fake_plugin "$folder/spank_pyxis.so" "$(release_number)"
    fake_plugin "$folder/other/spank_distgpu.so" 0x130501
    chmod 644 "$folder"/*.so "$folder"/other/*.so
    own=$folder/spank_distgpu.so
}

teardown() { rm -rf "$folder"; }

release() { submit srun --version | sed -E 's/.* ([0-9]+\.[0-9]+).*/\1/'; }

release_number() {
    local numbers
    IFS=. read -ra numbers <<<"$(release)"
    printf '0x%02x%02x00' "${numbers[0]}" "$((10#${numbers[1]}))"
}

fake_plugin() { # FILE NUMBER
    cc -shared -fPIC -x c -o "$1" - <<<"const char plugin_name[] = \"fake\", plugin_type[] = \"spank\";
const unsigned int plugin_version = $2;
int slurm_spank_init(void *s, int c, char **v) { return 0; }"
}

# check_config [-STATUS] [LINE]...: of a file with these lines, on the submit host. Folders are shown as @.
check_config() {
    local expected=()
    [[ $1 != -[0-9]* ]] || { expected=("$1") && shift; }
    printf '%s\n' "$@" >"$folder/plugstack.conf"
    run --separate-stderr "${expected[@]}" on login "$command" check-config "$folder/plugstack.conf"
    [ -z "$stderr" ]
    output=${output//"$folder"/@}
}

# said LINE MESSAGE...: the line ends in these messages and no other, and in status 1.
said() {
    local line=$1
    shift
    check_config -1 "$line"
    diff <(printf '@/plugstack.conf:1: %s\n' "$@") <(echo "$output")
}

# bats test_tags=short
@test "nothing is said of the shipped sample, nor of what the cluster runs with" {
    sed "s|^required .*|required $own|" \
        "$root/packaging/plugstack/zz-distgpu.conf.sample.in" >"$folder/sample"
    grep -q "^required $own$" "$folder/sample"
    run -0 on login "$command" check-config "$folder/sample"
    [ -z "$output" ]
    for host in login node01; do
        run -0 on "$host" "$command" check-config
        [ -z "$output" ]
    done
    on login grep "^required $SCRATCH" /etc/slurm/plugstack.conf
}

@test "the line of the manual works as it is copied, where the packages put the file" {
    local line host
    line=$(sed -n 's/^\.Dl \(required spank_distgpu\.so\)$/\1/p' "$root/packaging/man/spank_distgpu.8")
    [ "$line" = "required spank_distgpu.so" ]
    for host in login node01 node02; do
        on "$host" sh -c "cp /etc/slurm/plugstack.conf /etc/slurm/kept
            echo '$line' >/etc/slurm/plugstack.conf"
        run -0 on "$host" "$command" check-config
        [ -z "$output" ]
    done
    run -0 submit srun -N2 --distgpu=pytorch,bind=none printenv RANK
    [ "$(sort <<<"$output")" = $'0\n1' ]
    for host in login node01 node02; do on "$host" mv /etc/slurm/kept /etc/slurm/plugstack.conf; done
}

@test "all that is right is not told: pyxis before, arguments, includes, comments" {
    mkdir "$folder/plugstack.conf.d"
    echo "optional $folder/spank_pyxis.so runtime_path=/run/pyxis" >"$folder/plugstack.conf.d/pyxis.conf"
    printf '%s\n' '#!/bin/sh' 'exec distgpu "$@"' >"$folder/wrapper"
    chmod 755 "$folder/wrapper"
    echo "required $own ports=20000-21000 gpus=keep command=$folder/wrapper topology=$folder/%n.%%.xml # ours" \
        >"$folder/plugstack.conf.d/zz-distgpu.conf"
    check_config -0 "# the stack" "include plugstack.conf.d/*.conf"
    [ -z "$output" ]
}

# plugstack_test.cpp has the other lines.
@test "a line that Slurm ignores" {
    check_config -1 "requiered $own"
    [ "${#lines[@]}" -eq 2 ]
    [ "${output%%$'\n'*}" = '@/plugstack.conf:1: requiered: unknown keyword, so Slurm ignores the line; write required' ]
    [[ ${output#*$'\n'} == "@/plugstack.conf: spank_distgpu.so: no line loads it, so there is no --distgpu; add 'required "*"/spank_distgpu.so'" ]]
}

@test "a file that is missing, is no library, or was built for another Slurm" {
    local fails="so every srun, sbatch and salloc would fail"
    local release
    release=$(release)
    check_config "required /no/spank_distgpu.so"
    # Where it is, or how to get it here.
    [[ $output == "@/plugstack.conf:1: /no/spank_distgpu.so: no such file, $fails; write "* ]]
    check_config "optional /no/spank_other.so" "required $own"
    [ "$output" = "@/plugstack.conf:1: /no/spank_other.so: no such file, so every srun would print an error and run without it; write the path of an existing file" ]
    check_config "required spank_pyxis.so" "required $own"
    [[ $output == "@/plugstack.conf:1: spank_pyxis.so: not in Slurm's PluginDir (/"*", $SCRATCH), $fails; write the path of an existing file" ]]
    echo text >"$folder/other/spank_distgpu.so"
    said "required $folder/other/spank_distgpu.so" \
        "@/other/spank_distgpu.so: not a shared library for this architecture, $fails; name the file of a plugin"
    fake_plugin "$folder/other/spank_distgpu.so" 0x130501
    said "required $folder/other/spank_distgpu.so" \
        "@/other/spank_distgpu.so: built for Slurm 19.05, but this host has $release, $fails; install the plugin for $release" \
        "@/other/spank_distgpu_step.so: no such file, so every step with --distgpu would fail; install the plugin again, which has two files"
}

@test "the file that the plugin loads" {
    local step=@/spank_distgpu_step.so
    chmod 600 "$folder/spank_distgpu_step.so"
    said "required $own" "$step: users have no access to it; chmod a+r $step"
    rm "$folder/spank_distgpu_step.so"
    said "required $own" "$step: no such file, so every step with --distgpu would fail; install the plugin again, which has two files"
    cp "${plugin%.so}_step.so" "$folder/spank_distgpu_step.so"
    chmod 644 "$folder/spank_distgpu_step.so"
    ln -sf "$own" "$folder/other/spank_distgpu.so"
    check_config -0 "required $folder/other/spank_distgpu.so"
}

@test "a library that is no plugin" {
    cc -shared -fPIC -x c -o "$folder/other/libnone.so" - <<<'int main_of_none;'
    chmod 644 "$folder/other/libnone.so"
    check_config -1 "required $folder/other/libnone.so" "required $own"
    [ "$output" = "@/plugstack.conf:1: @/other/libnone.so: not a Slurm plugin: it has no plugin_name and plugin_type, so every srun, sbatch and salloc would fail; write the path of an existing file" ]
}

# A sparse file of 512 GiB, whose dynamic symbols fill it; includes that double twenty times.
@test "files of any size and any number of includes end soon" {
    python3 - "$own" "$folder/other/spank_distgpu.so" <<'PY'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
start, = struct.unpack_from("<Q", data, 0x28)
size, count = struct.unpack_from("<HH", data, 0x3A)
for i in range(count):
    at = start + i * size
    if struct.unpack_from("<I", data, at + 4)[0] == 11:  # SHT_DYNSYM
        struct.pack_into("<QQ", data, at + 0x18, len(data), 2**39 - len(data))
with open(sys.argv[2], "wb") as file:
    file.write(data)
    file.truncate(2**39)
PY
    chmod 755 "$folder/other/spank_distgpu.so"
    SECONDS=0
    check_config -1 "required $folder/other/spank_distgpu.so"
    [[ $output == *": @/other/spank_distgpu.so: not a Slurm plugin: it has no plugin_name and plugin_type, "* ]]
    cp /bin/true "$folder/other/true" && truncate --size=512G "$folder/other/true"
    said "required $own command=$folder/other/true" \
        "command=@/other/true: not the distgpu command, so steps would wait for a topology in vain; give the path of the distgpu command, or leave it out"
    ((SECONDS < 60))
    for level in {1..20}; do
        printf '%s\n' "include $((level + 1)).conf" "include $((level + 1)).conf" >"$folder/$level.conf"
    done
    echo "optional $folder/spank_pyxis.so" >"$folder/21.conf"
    check_config -1 "include 1.conf" "required $own"
    grep '^@/[0-9]*\.conf:2: [0-9]*\.conf: not read, because there are too many included files or lines; include each file once$' <<<"$output"
    ((${#lines[@]} < 100 && SECONDS < 60))
}

@test "quotes, which Slurm takes for a part of the word" {
    check_config -1 "required \"$own\"" "include 'x.conf'" "required $own"
    diff - <(echo "$output") <<'TEXT'
@/plugstack.conf:1: "@/spank_distgpu.so": Slurm treats the quotes as part of the name; write it without quotes; a name with a blank cannot be written
@/plugstack.conf:2: 'x.conf': Slurm treats the quotes as part of the name; write it without quotes; a name with a blank cannot be written
TEXT
    said "required $own ports=\"20000-21000\" 'gpus=keep'" \
        'ports="20000-21000": Slurm treats the quotes as part of the argument; write it without quotes' \
        "'gpus=keep': Slurm treats the quotes as part of the argument; write it without quotes"
}

@test "a file that others may change, or that users cannot read" {
    chmod g+w "$own"
    said "required $own" "$(tell "$own" "users other than root can change it; chmod go-w @/spank_distgpu.so")"
    chmod 644 "$own" && chown nobody "$own"
    said "required $own" \
        "$(tell "$own" "it belongs to user $(id -u nobody), who could replace it; chown -h root @/spank_distgpu.so")"
    chown root "$own" && chmod 600 "$own"
    said "required $own" "$(tell "$own" "users have no access to it; chmod a+r @/spank_distgpu.so")"
    chmod 644 "$own" && chmod 777 "$folder"
    said "required $own" "$(tell "$own" "users other than root can change @; chmod go-w @")"
    chmod 700 "$folder"
    said "required $own" "$(tell "$own" "users have no access to @; chmod a+x @")"
    chmod 755 "$folder" && ln -s "$own" "$SCRATCH/link" && chown -h nobody "$SCRATCH/link"
    check_config "required $SCRATCH/link" "required $own"
    rm "$SCRATCH/link"
    [[ $output == *"/link: it belongs to user "*"; chown -h root $SCRATCH/link" ]]
}

tell() { # FILE MESSAGE
    echo "@${1#"$folder"}: $2"
}

@test "what Slurm's daemons and distgpu would stumble over" {
    said "optional $own" "optional: Slurm would still start a step that distgpu refuses; write required"
    check_config -1 "required $own" "required $own"
    [ "$output" = "@/plugstack.conf:2: @/spank_distgpu.so: already listed in @/plugstack.conf:1, so every srun would report that both provide --distgpu; remove one of the two lines" ]
    check_config -1 "required $own" "required $folder/spank_pyxis.so"
    [ "$output" = "@/plugstack.conf:1: @/spank_distgpu.so: its line comes before that of pyxis, whose containers then replace what distgpu sets; put it after @/plugstack.conf:2" ]
    mkdir "$folder/d"
    echo "required $own" >"$folder/d/distgpu.conf"
    echo "required $folder/spank_pyxis.so" >"$folder/d/pyxis.conf"
    check_config -1 "include d/*"
    [[ $output == "@/d/distgpu.conf:1: "*"; put it after @/d/pyxis.conf:1, as in a file whose name sorts last: zz-distgpu.conf" ]]
}

@test "arguments that distgpu would ignore, and files that they name" {
    said "required $own master=foo" "master=foo: would send every job to this one host; give addr, name or suffix:S"
    said "required $own command=/no/distgpu topology=/no/file.xml" \
        "command=/no/distgpu: No such file or directory; name an existing file" \
        "topology=/no/file.xml: No such file or directory; name an existing file"
    said "required $own topology=/no/%n.xml command=$own" \
        "command=@/spank_distgpu.so: users have no access to it; chmod a+rx @/spank_distgpu.so" \
        "topology=/no/%n.xml: No such file or directory; name an existing file"
}

@test "arguments that have no effect, or another one than was meant" {
    local first last
    read -r first last < <(on login cat /proc/sys/net/ipv4/ip_local_port_range)
    said "required $own ports=20000-$first" \
        "ports=20000-$first: the kernel of this host assigns ports $first-$last to outgoing connections (net.ipv4.ip_local_port_range); use a range outside of it, or reserve yours with net.ipv4.ip_local_reserved_ports"
    said "required $own ports=20000-21000 ports=22000-23000" \
        "ports=22000-23000: ports= is given twice, and the last one is used; remove one of the two"
    said "required $own command=/bin/true" \
        "command=/bin/true: not the distgpu command, so steps would wait for a topology in vain; give the path of the distgpu command, or leave it out"
    said "required $own topology=$folder/%n-%q.xml" \
        "topology=@/%n-%q.xml: %q is not a placeholder; write %n for the node's name in Slurm, %h for its host name, %% for %"
}

@test "the switch for emergencies and the record of use are no mistakes, their misspellings are" {
    check_config -0 "required $own off log=steps"
    [ -z "$output" ]
    said "required $own off=1" "off=1: unknown value; give off or off=run"
}

@test "a file that cannot be read is no finding" {
    run --separate-stderr -3 on login "$command" check-config "$folder/none"
    [ "$stderr" = "distgpu: $folder/none: No such file or directory; name a file that this user can read" ]
    [ -z "$output" ]
    run -2 "$command" check-config a b
}

# What check-config says that Slurm does with such lines.
# bats test_tags=short
@test "Slurm minds the same lines" {
    on login cp /etc/slurm/plugstack.conf /etc/slurm/kept
    on login sh -c "echo 'requiered $own' >/etc/slurm/plugstack.conf"
    run -0 submit srun -n1 true
    [[ $output == *"Invalid line. Ignoring."* ]]
    on login sh -c "echo 'required /no/spank_distgpu.so' >/etc/slurm/plugstack.conf"
    run ! submit srun -n1 true
    on login sh -c "echo 'required $folder/other/spank_distgpu.so' >/etc/slurm/plugstack.conf"
    run ! submit srun -n1 true
    [[ $output == *"Incompatible plugin version"* ]]
    on login sh -c "printf 'required %s\n' $own $own >/etc/slurm/plugstack.conf"
    run -0 submit srun -n1 true
    [[ $output == *'option "distgpu" provided by both'* ]]
    on login mv /etc/slurm/kept /etc/slurm/plugstack.conf
    assert_cluster_clean
}
