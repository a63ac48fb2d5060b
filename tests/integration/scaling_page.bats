#!/usr/bin/env bats
# The page that nccl-scaling writes, in a real browser: nothing fails, nothing is asked for over a
# network, and all results are on it. Needs no cluster. The pages are of made-up results.
bats_require_minimum_version 1.5.0

root=$BATS_TEST_DIRNAME/../..
pages=${DISTGPU_SCALING_PAGES:-$root/build/dev/tests/unit_scaling/report/scaling_sample_page}

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    "$pages" . >expected
    browse ./*.html >seen
}

browse() {
    TMPDIR=$BATS_FILE_TMPDIR python3 "$root/tests/integration/scaling_page/open_page.py" chromium "$@"
}

setup() { cd "$BATS_FILE_TMPDIR" || return; }

# Points of the lines, pictures, filled cells of the heat map, rows of the table.
@test "every result is on the page" {
    [ "$(wc -l <expected)" -eq 10 ]
    diff <(sort expected) <(cut -d' ' -f1-5 seen | sort)
}

# In windows of 1280 and 390 pixels, light and dark.
@test "no error, no request, no text outside or too small, no wrong tip, nothing wider than the window" {
    [ "$(wc -l <seen)" -eq 10 ]
    while read -r page _ _ _ _ rest; do
        echo "$page: $rest"
        [ "$rest" = "0 0 fits wrong tips: none requests: none errors: none" ]
    done <seen
}

# Else the test above could not fail.
@test "errors, requests, wrong tips and texts outside or too small are seen where they are" {
    cat >faulty.html <<'HTML'
<!DOCTYPE html><html lang="en"><title>faulty</title>
<script>console.error("oops"); nothing.at.all;</script>
<img src="http://127.0.0.1:9/away.png"><div style="width: 3000px">wide</div>
<svg width="100" height="20"><text x="300">outside</text></svg><small style="font-size: 9px">small</small>
<div id="tip" hidden></div><div class="picture"><i data-tip="one">1</i><i data-tip="two">2</i></div></html>
HTML
    run -0 browse faulty.html
    [[ $output == "faulty.html 0 0 0 0 4 4 wide wrong tips: arrow focus pointer requests: http://127.0.0.1:9/away.png errors: "* ]]
    [[ $output == *"console: error"* && $output == *exception* ]]
}

@test "a page of 512 nodes can be mailed, and names the fault beside the limiter" {
    chromium --headless --no-sandbox --user-data-dir="$BATS_TEST_TMPDIR/profile" --dump-dom \
        "file://$PWD/nodes-8.html" >drawn 2>/dev/null
    grep --quiet '<td class="word">n5</td><td class="word">slow node</td><td class="word">GPU 0000:3b:00.0 (H100): gone</td>' drawn
    [ "$(stat --format %s nodes-512.html)" -lt 4000000 ]
}

@test "a page that breaks its own policy is refused by the browser" {
    sed 's|</body>|<img src="http://127.0.0.1:9/away.png"></body>|' nodes-2.html >policy.html
    run -0 browse policy.html
    [[ $output == *"Content Security Policy directive"*"The action has been blocked."* ]]
}

@test "no process and no profile is left" {
    run -1 pgrep --full "user-data-dir=$BATS_FILE_TMPDIR"
    [ -z "$output" ]
    run -1 compgen -G 'scaling-page-*'
    [ -s seen ]
}
