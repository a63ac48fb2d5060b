#!/usr/bin/env bats
# The pictures of `distgpu plan` and `distgpu topo`: those of docs/images are what the commands of
# their pages draw today, and in a real browser nothing of them is cut off or hard to read. Needs no
# cluster. DISTGPU_UPDATE_PICTURES=1 in the environment draws those of docs/images anew.

load cluster

setup() { cd "$root" || return; }

# The command, and the picture's name.
as_in_docs() { # NAME ARGUMENT...
    run --separate-stderr -0 env --chdir "$machines" "$command" "${@:2}" --svg "$BATS_TEST_TMPDIR/$1"
    [ -z "$output" ]
    if [[ ${DISTGPU_UPDATE_PICTURES-} ]]; then cp "$BATS_TEST_TMPDIR/$1" docs/images; fi
    cmp "$BATS_TEST_TMPDIR/$1" "docs/images/$1"
}

browse() {
    TMPDIR=$BATS_TEST_TMPDIR python3 "$root/tests/integration/scaling_page/open_page.py" --judge chromium "$@"
}

# bats test_tags=short
@test "the pictures of the docs are drawn by their pages' commands" {
    as_in_docs binding.svg plan pytorch --nodelist 'node[01-16]' --tasks-per-node 8 \
        --cpus-per-task 4 --topology efa-8gpu.xml
    as_in_docs topology.svg topo --topology h200-8numa.xml
}

@test "four sockets stand two in a row, and the legend names the colours that are no rank's" {
    run --separate-stderr -0 "$command" plan pytorch -N2 --tasks-per-node 8 \
        --topology "$machines/mi300a-cpx.xml" --svg "$BATS_TEST_TMPDIR/four.svg"
    # Four sockets, two in a row: two left edges and two upper ones.
    sed -nE 's/^<text x="([^"]*)" y="([^"]*)" class="strong"[^>]*>Socket .*/\1 \2/p' "$BATS_TEST_TMPDIR/four.svg" >"$BATS_TEST_TMPDIR/sockets"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/sockets")" -eq 4 ]
    [ "$(cut --delimiter=' ' --fields=1 "$BATS_TEST_TMPDIR/sockets" | sort -u | wc -l)" -eq 2 ]
    [ "$(cut --delimiter=' ' --fields=2 "$BATS_TEST_TMPDIR/sockets" | sort -u | wc -l)" -eq 2 ]
    run --separate-stderr -0 "$command" plan pytorch -N2 --tasks-per-node 4 \
        --topology "$machines/h200-8numa.xml" --svg "$BATS_TEST_TMPDIR/some.svg"
    [ "$(in_legend "$BATS_TEST_TMPDIR/some.svg")" = "c0 c1 c2 c3 idle " ]
    run --separate-stderr -0 "$command" plan pytorch,bind=none -N2 --tasks-per-node 4 \
        --topology "$machines/h200-8numa.xml" --svg "$BATS_TEST_TMPDIR/all.svg"
    [ "$(in_legend "$BATS_TEST_TMPDIR/all.svg")" = "c0 c1 c2 c3 many " ]
}

in_legend() { # PICTURE
    sed -nE 's/.* width="12" height="12" .* class="([^"]*)".*/\1/p' "$1" | tr '\n' ' '
}

@test "a page fits into the browser, light and dark, wide and narrow" {
    local machine
    for machine in h200-8numa power9-4v100 dgx2 mi300a-cpx cloud-flat; do
        run --separate-stderr -0 "$command" plan pytorch -N3 --tasks-per-node 4,4,2 \
            --topology "$machines/$machine.xml" --html "$BATS_TEST_TMPDIR/$machine.html"
        run -0 browse "$BATS_TEST_TMPDIR/$machine.html"
        [ "${lines[0]}" = "$machine.html 0 0 0 0 0 0 fits wrong tips: none requests: none errors: none" ]
        [[ ${lines[1]} =~ boxed\ [1-9][0-9]*\ leaving\ 0\ faint\ 0$ ]]
    done
}

@test "equal nodes are drawn once, with all of their ranks behind it" {
    run --separate-stderr -0 "$command" plan pytorch -N1000 --tasks-per-node 4 \
        --topology "$machines/power9-4v100.xml" --html "$BATS_TEST_TMPDIR/page.html"
    [ "$(grep -c '<svg ' "$BATS_TEST_TMPDIR/page.html")" -eq 1 ]
    grep -qF '<tr><td>node1000</td><td>3996-3999</td></tr>' "$BATS_TEST_TMPDIR/page.html"
    [ "$(stat -c %s "$BATS_TEST_TMPDIR/page.html")" -lt 100000 ]
    run --separate-stderr -0 "$command" plan pytorch -N3 --tasks-per-node 4,4,2 \
        --topology "$machines/power9-4v100.xml" --html "$BATS_TEST_TMPDIR/page.html"
    [ "$(grep -c '<svg ' "$BATS_TEST_TMPDIR/page.html")" -eq 2 ]
}

@test "what a node is called cannot change the page, and what cannot be drawn is said" {
    sed 's/Tesla V100[^"]*/<script>alert(1)<\/script>/' "$machines/dgx2.xml" |
        sed 's/<script>/\&lt;script\&gt;/; s/<\/script>/\&lt;\/script\&gt;/' >"$BATS_TEST_TMPDIR/evil.xml"
    run --separate-stderr -0 "$command" topo --topology "$BATS_TEST_TMPDIR/evil.xml" --svg "$BATS_TEST_TMPDIR/evil.svg"
    run -1 grep -qi '<script' "$BATS_TEST_TMPDIR/evil.svg"
    grep -q '&lt;script' "$BATS_TEST_TMPDIR/evil.svg"
    python3 -c 'import sys, xml.dom.minidom as dom; dom.parse(sys.argv[1])' "$BATS_TEST_TMPDIR/evil.svg"
    run --separate-stderr -2 "$command" plan pytorch -N2 --svg "$BATS_TEST_TMPDIR/none.svg"
    [ "$stderr" = "distgpu: node1: its topology is not known, so there is nothing to draw; give it with --topology FILE" ]
    [ ! -e "$BATS_TEST_TMPDIR/none.svg" ]
    run --separate-stderr -3 "$command" topo --topology "$machines/dgx2.xml" --svg /no/folder/x.svg
    [[ $stderr == "distgpu: /no/folder"* ]]
}

# librsvg draws for GNOME's viewer, ImageMagick and many wikis.
@test "a program without style sheets draws the ranks' colours, which colour-blind people can tell apart" {
    local line all deuteranope
    rsvg-convert --format svg docs/images/binding.svg --output "$BATS_TEST_TMPDIR/converted.svg"
    run -0 python3 "$BATS_TEST_DIRNAME/pictures/colours.py" docs/images/binding.svg "$BATS_TEST_TMPDIR/converted.svg"
    [ "${lines[0]}" = "drawn all" ]
    for line in "${lines[@]:1}"; do
        read -r _ all deuteranope <<<"$line"
        ((${all%.*} >= 15 && ${deuteranope%.*} >= 15))
    done
    [ ${#lines[@]} -eq 3 ]
}
