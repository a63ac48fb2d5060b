#!/usr/bin/env bats
# The pictures of `distgpu plan` and `distgpu topo`: those of docs/images are what the commands of
# their pages draw today, and in a real browser nothing of them is cut off or hard to read. Needs no
# cluster. DISTGPU_UPDATE_PICTURES=1 in the environment draws those of docs/images anew.
# shellcheck disable=SC2154 # cluster.bash sets root and command; run sets output and status

load cluster

setup() { cd "$root" || return; }

# The command, and the picture's name.
as_in_docs() { # NAME ARGUMENT...
    local name=$1
    shift
    run --separate-stderr -0 "$command" "$@" --svg "$BATS_TEST_TMPDIR/$name"
    [ -z "$output" ]
    if [[ ${DISTGPU_UPDATE_PICTURES-} ]]; then cp "$BATS_TEST_TMPDIR/$name" docs/images; fi
    cmp "$BATS_TEST_TMPDIR/$name" "docs/images/$name"
}

browse() {
    TMPDIR=$BATS_TEST_TMPDIR python3 "$root/tests/integration/scaling_page/open_page.py" chromium "$@"
}

# What open_page.py does not look for: pictures/judge.html.
judged() { # PAGE CHROMIUM_OPTION...
    {
        # Its policy lets no script run.
        sed -e 's|</body></html>||' -e '/Content-Security-Policy/d' "$1"
        cat tests/integration/pictures/judge.html
    } >"$BATS_TEST_TMPDIR/judged.html"
    chromium --headless --no-sandbox --user-data-dir="$BATS_TEST_TMPDIR/profile" "${@:2}" --dump-dom \
        "file://$BATS_TEST_TMPDIR/judged.html" 2>/dev/null | grep -o '<title>judged[^<]*'
}

@test "the pictures of the docs are drawn by their pages' commands" {
    as_in_docs binding.svg plan pytorch --nodelist 'node[01-16]' --tasks-per-node 8 \
        --cpus-per-task 4 --topology tests/topologies/efa-8gpu.xml
    as_in_docs topology.svg topo --topology tests/topologies/h200-8numa.xml
}

# 10 is five times what is just seen side by side; ranks that follow each other stand side by side.
@test "the colours of ranks are told apart, also by people who see fewer" {
    run -0 python3 tests/integration/pictures/told_apart.py docs/images/binding.svg
    echo "$output"
    [[ ${lines[0]} =~ ^light:\ 8\ colours,\ following\ ([0-9]+),\ any\ ([0-9]+)$ ]]
    ((BASH_REMATCH[1] >= 18 && BASH_REMATCH[2] >= 9))
    [[ ${lines[1]} =~ ^dark:\ 8\ colours,\ following\ ([0-9]+),\ any\ ([0-9]+)$ ]]
    ((BASH_REMATCH[1] >= 18 && BASH_REMATCH[2] >= 9))
}

@test "four sockets stand two in a row" {
    run --separate-stderr -0 "$command" plan pytorch -N2 --tasks-per-node 8 \
        --topology tests/topologies/mi300a-cpx.xml --svg "$BATS_TEST_TMPDIR/four.svg"
    # Four sockets, two in a row: two left edges and two upper ones.
    sed -nE 's/^<text x="([^"]*)" y="([^"]*)" class="strong">Socket .*/\1 \2/p' "$BATS_TEST_TMPDIR/four.svg" >"$BATS_TEST_TMPDIR/sockets"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/sockets")" -eq 4 ]
    [ "$(cut --delimiter=' ' --fields=1 "$BATS_TEST_TMPDIR/sockets" | sort -u | wc -l)" -eq 2 ]
    [ "$(cut --delimiter=' ' --fields=2 "$BATS_TEST_TMPDIR/sockets" | sort -u | wc -l)" -eq 2 ]
}

in_legend() { # PICTURE
    sed -nE 's/.* width="12" height="12" .* class="([^"]*)".*/\1/p' "$1" | tr '\n' ' '
}

@test "the legend names the CPUs' colours that are no rank's, where there are such" {
    run --separate-stderr -0 "$command" plan pytorch -N2 --tasks-per-node 4 \
        --topology tests/topologies/h200-8numa.xml --svg "$BATS_TEST_TMPDIR/some.svg"
    [ "$(in_legend "$BATS_TEST_TMPDIR/some.svg")" = "c0 c1 c2 c3 idle " ]
    run --separate-stderr -0 "$command" plan pytorch,bind=none -N2 --tasks-per-node 4 \
        --topology tests/topologies/h200-8numa.xml --svg "$BATS_TEST_TMPDIR/all.svg"
    [ "$(in_legend "$BATS_TEST_TMPDIR/all.svg")" = "c0 c1 c2 c3 many " ]
}

@test "a page fits into the browser, light and dark, wide and narrow" {
    local machine
    for machine in h200-8numa power9-4v100 dgx2 mi300a-cpx cloud-flat; do
        run --separate-stderr -0 "$command" plan pytorch -N3 --tasks-per-node 4,4,2 \
            --topology "tests/topologies/$machine.xml" --html "$BATS_TEST_TMPDIR/$machine.html"
        run -0 browse "$BATS_TEST_TMPDIR/$machine.html"
        echo "$output"
        [ "$output" = "$machine.html 0 0 0 0 0 0 fits wrong tips: none requests: none errors: none" ]
        run -0 judged "$BATS_TEST_TMPDIR/$machine.html"
        echo "$output"
        [[ $output =~ judged\ [1-9][0-9]*\ wide\ 0\ pale\ 0$ ]]
        run -0 judged "$BATS_TEST_TMPDIR/$machine.html" --blink-settings=preferredColorScheme=0
        [[ $output =~ judged\ [1-9][0-9]*\ wide\ 0\ pale\ 0$ ]]
    done
}

@test "equal nodes are drawn once, with all of their ranks behind it" {
    run --separate-stderr -0 "$command" plan pytorch -N1000 --tasks-per-node 4 \
        --topology tests/topologies/power9-4v100.xml --html "$BATS_TEST_TMPDIR/page.html"
    [ "$(grep -c '<svg ' "$BATS_TEST_TMPDIR/page.html")" -eq 1 ]
    grep -qF '<tr><td>node1000</td><td>3996-3999</td></tr>' "$BATS_TEST_TMPDIR/page.html"
    [ "$(stat -c %s "$BATS_TEST_TMPDIR/page.html")" -lt 100000 ]
    run --separate-stderr -0 "$command" plan pytorch -N3 --tasks-per-node 4,4,2 \
        --topology tests/topologies/power9-4v100.xml --html "$BATS_TEST_TMPDIR/page.html"
    [ "$(grep -c '<svg ' "$BATS_TEST_TMPDIR/page.html")" -eq 2 ]
}

@test "what a node is called cannot change the page" {
    sed 's/Tesla V100[^"]*/<script>alert(1)<\/script>/' tests/topologies/dgx2.xml |
        sed 's/<script>/\&lt;script\&gt;/; s/<\/script>/\&lt;\/script\&gt;/' >"$BATS_TEST_TMPDIR/evil.xml"
    run --separate-stderr -0 "$command" topo --topology "$BATS_TEST_TMPDIR/evil.xml" --svg "$BATS_TEST_TMPDIR/evil.svg"
    run -1 grep -qi '<script' "$BATS_TEST_TMPDIR/evil.svg"
    grep -q '&lt;script' "$BATS_TEST_TMPDIR/evil.svg"
    python3 -c 'import sys, xml.dom.minidom as dom; dom.parse(sys.argv[1])' "$BATS_TEST_TMPDIR/evil.svg"
}

@test "what cannot be drawn is said" {
    run --separate-stderr -2 "$command" plan pytorch -N2 --svg "$BATS_TEST_TMPDIR/none.svg"
    [ "$stderr" = "distgpu: node1: its topology is not known, so there is nothing to draw; give it with --topology FILE" ]
    [ ! -e "$BATS_TEST_TMPDIR/none.svg" ]
    run --separate-stderr -3 "$command" topo --topology tests/topologies/dgx2.xml --svg /no/folder/x.svg
    [[ $stderr == "distgpu: /no/folder"* ]]
}
