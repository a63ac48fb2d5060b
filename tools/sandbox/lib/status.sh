# `sandbox status`: one line per host of a sandbox, or one per sandbox.
# Sourced by ../sandbox. Needs: name, name_given.
# shellcheck shell=bash
# The files share variables: "Needs" above lists those that other files set.
# shellcheck disable=SC2034,SC2154

status() {
    ((name_given)) && need_sandbox && show_hosts && return
    printf '%-24s %-8s %5s  %s\n' NAME STATE NODES USER
    for state in "$sandbox_root"/*/; do
        state=${state%/}
        [[ -d $state ]] && show_sandbox
    done
    return 0
}

# Prints up, starting, or broken: then a keeper is gone, and `down` cleans up.
sandbox_state() {
    local host
    [[ -e $state/up ]] || { echo starting && return; }
    for host in "$state"/{login,node*}; do
        keeper_of "${host##*/}" || { echo broken && return; }
    done
    echo up
}

show_sandbox() {
    local folders=("$state"/node*) owner=-
    [[ -r $state/user ]] && read -r owner <"$state/user"
    [[ -d ${folders[0]} ]] || folders=()
    printf '%-24s %-8s %5d  %s\n' "${state##*/}" "$(sandbox_state)" "${#folders[@]}" "$owner"
}

show_hosts() {
    local address host node_state
    declare -A states=([login]=up)
    while read -r host node_state; do
        states[$host]=$node_state
    done < <(in_host login sinfo -h -N -o '%N %t' 2>/dev/null)
    while read -r address host; do
        [[ $host == localhost ]] && continue
        keeper_of "$host" && printf '%-8s %-12s %s\n' "$host" "$address" "${states[$host]-unknown}" ||
            printf '%-8s %-12s gone\n' "$host" "$address"
    done <"$state/etc/hosts"
}
