#!/usr/bin/env bats
# The manual says what the command and the plugin do, in both directions. Needs no cluster.

load cluster

scaling=${DISTGPU_SCALING:-$root/build/dev/nccl_scaling/nccl-scaling}

setup() {
    cd "$root/packaging/man" || return
}

# The words of the help text's sections "Modes:" and "Keys:", as a user writes them.
help_words() { # SECTION
    "$command" vars help | sed -n "/^$1:/,/^\$/p" | sed -nE 's/^  ([^ ]+) .*/\1/p'
}

# The items of a section, one a line: ".It Cm accelerate , transformers" has two.
items() { # SECTION PAGE
    sed -n "/^\.Sh $1\$/,/^\.Sh /p" "$2" | sed -n 's/^\.It Cm //p' | sed 's/ , \(Cm \)\?/\n/g'
}

# The options of the help text with their values' names: "--save FILE". CLI11 writes it in another
# form from 2.5 on.
# Of an option with several names the last.
help_options() { # [SUBCOMMAND]
    "$command" "$@" --help | sed -nE 's/ Excludes:.*//; s/^ {2,10}(-[A-Za-z], *)?(--[a-z-]+, *)?(--[a-z-]+( [A-Z[][^ :]*)?).*/\3/p'
}

page_options() { # PAGE
    sed -nE 's/^\.It (Fl [A-Za-z-]+ , )?Fl (-[a-z-]+)( Ar (.*))?$/-\2 \4/p' "$1" | sed 's/ $//'
}

# The same of nccl-scaling, which has short options too, and in its help defaults and choices.
scaling_help_options() { # [SUBCOMMAND]
    "$scaling" "$@" --help | sed -nE 's/^ {2,10}(-h, *)?(--?[a-z-]+( [A-Z]+)?).*/\2/p'
}

scaling_page_options() {
    sed -nE 's/^\.It (Fl h , )?Fl (-?[a-z-]+)( Ar ([A-Z]+))?.*/-\2 \4/p' nccl-scaling.1 | sed 's/ $//'
}

format() { # OPTION... PAGE
    LC_ALL=C.UTF-8 MANWIDTH=80 man --encoding=UTF-8 --local-file "$@"
}

subcommands() {
    "$command" --help | sed -n '/^Subcommands:/I,$p' | sed -nE 's/^  ([a-z-]+) .*/\1/p'
}

# As diff, but without order; fails where both are empty too.
same() { # TEXT TEXT
    [ -n "$1" ]
    diff <(sort <<<"$1") <(sort <<<"$2")
}

# bats test_tags=short
@test "no page has a formatting error, each has its line for whatis" {
    for page in *.[178]; do
        run --separate-stderr -0 format --warnings --troff-device=utf8 --ditroff "$page"
        [ -z "$stderr" ]
        lexgrog "$page"
    done
}

@test "options can be copied from a page to a shell" { format distgpu-plan.1 | grep -qF -e '--ntasks-per-node COUNTS'; }

# bats test_tags=short
@test "each subcommand has its page, and that page its options" {
    same "$(subcommands)" "$(printf '%s\n' distgpu-*.1 | sed 's/distgpu-\(.*\)\.1/\1/')"
    same "$(subcommands)" "$(items DESCRIPTION distgpu.1)"
    same "$(help_options)" "$(page_options distgpu.1)"
    for subcommand in $(subcommands); do
        same "$(help_options "$subcommand")" "$(page_options "distgpu-$subcommand.1")"
    done
}

@test "nccl-scaling's options are those of its page, those of subcommands are in its synopsis" {
    local name
    same "$(scaling_help_options)" "$(scaling_page_options)"
    for name in times diff; do
        same "$(scaling_help_options "$name")" "$(echo --help && sed -n \
            "/^\\.Cm $name\$/,/^\\.\\(Nm\\|Sh .*\\)\$/s/^\\.Op Fl \\(.*\\) Ar /-\\1 /p" nccl-scaling.1)"
    done
}

# bats test_tags=short
@test "the tables of checks, modes, aliases, keys, twins and plugstack.conf are those of the programs" {
    local aliases
    same "$("$command" check --list | sed -nE 's/^([a-z]+) .*/\1/p')" "$(items DESCRIPTION distgpu-check.1)"
    aliases=$("$command" vars help | sed -n 's/.*(also: \(.*\))$/\1/p' | sed 's/, /\n/g')
    same "$(help_words Modes)"$'\n'"$aliases" "$(items MODES distgpu-spec.7)"
    same "$(help_words Keys)" "$(items KEYS distgpu-spec.7)"
    same "$("$command" vars help | grep -oE '[A-Z]+_DISTGPU' | sort -u)" \
        "$(sed -n 's/^\.It Ev \([A-Z]*_DISTGPU\)$/\1/p' distgpu-spec.7)"
    same "$(sed -nE 's/.*name == "([a-z]+)".*/\1=/p' "$root/libmapping/slurm/plugstack_arguments.cpp")" \
        "$(items ARGUMENTS spank_distgpu.8 | sed 's/ Ns .*//; s/^off$/off=/' | uniq)"
}

@test "distgpu-spec(7) says of which modes a key is" {
    same "$("$command" vars --format json | python3 -c 'import json, sys
for mode in json.load(sys.stdin)["modes"]:
    for key in mode["keys"]:
        print(key, mode["mode"])')" \
        "$(awk '/^\.It Cm / { key = $3; sub("=.*", "", key) }
            sub("^Modes: ", "") { gsub("[,.]", ""); for (i = 1; i <= NF; i++) print key, $i }' \
            distgpu-spec.7)"
}

@test "pages refer to pages that are there" {
    local pages page
    mapfile -t pages < <(sed -nE 's/^\.Xr (.*distgpu[^ ]*) ([0-9]).*/\1.\2/p' ./*.[178] | sort -u)
    ((${#pages[@]} > 5))
    for page in "${pages[@]}"; do
        [ -f "$page" ]
    done
}
