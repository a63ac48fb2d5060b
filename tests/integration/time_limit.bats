#!/usr/bin/env bats
# The key signal=: a notice to the ranks before the time limit, below whatever starts them.

load cluster

setup_file() {
    cluster_up --nodes 2
    cat >"$SCRATCH/train.py" <<'END'
import os, signal, sys, time

def save(number, _):
    print(os.environ["RANK"], signal.Signals(number).name, round(time.time() - begin), flush=True)
    sys.exit(0)

begin = time.time()
if os.environ["RANK"] != "3":
    signal.signal(signal.SIGUSR2, save)
print(os.environ["RANK"], "up", flush=True)
while not os.path.exists("noticed"):
    time.sleep(0.2)
END
}
setup() { rm -f "$SCRATCH/noticed"; }

# bats test_tags=short
@test "each rank that catches it gets it once, below a shell; the others are named" {
    (sleep 40 && touch "$SCRATCH/noticed") 3>&- &
    run submit srun -N2 -n4 --time=1 --distgpu=pytorch,signal=USR2@35 bash -c 'python3 train.py; exit $?'
    wait
    echo "$output"
    [ "$(grep -E '^[0-9]+ SIGUSR2' <<<"$output" | cut -d' ' -f1 | sort)" = "$(printf '%s\n' 0 1 2)" ]
    # The limit is 60 s after the job's start.
    while read -r _ _ seconds; do
        ((seconds >= 20 && seconds <= 32))
    done < <(grep -E '^[0-9]+ SIGUSR2' <<<"$output")
    [[ $output =~ 'distgpu: signal=USR2@35: the job ends in 3'[45]' s' ]]
    [[ $output =~ 'step '[0-9]+'.0: ranks 0-2 got SIGUSR2' ]]
    [[ $output == *'not sent to rank 3: it has no handler for SIGUSR2, which would end it'* ]]
}

@test "a limit that is changed moves the notice" {
    (
        until [[ $(submit squeue --noheader --format=%A --states=running) ]]; do sleep 0.2; done
        on node01 scontrol update JobId="$(submit squeue --noheader --format=%A)" TimeLimit=2
        sleep 100
        touch "$SCRATCH/noticed"
    ) 3>&- &
    run submit srun -N2 -n4 --time=1 --distgpu=pytorch,signal=USR2@45 bash -c 'python3 train.py; exit $?'
    wait
    echo "$output"
    while read -r _ _ seconds; do
        ((seconds >= 70 && seconds <= 82))
    done < <(grep -E '^[0-9]+ SIGUSR2' <<<"$output")
    [ "$(grep -cE '^[0-9]+ SIGUSR2' <<<"$output")" -eq 3 ]
}

@test "a job that ends sooner than the notice is told at the start" {
    touch "$SCRATCH/noticed"
    run -0 submit srun -N2 -n4 --time=1 --distgpu=pytorch,signal=USR2@300 python3 train.py
    echo "$output"
    [[ $output =~ 'distgpu: signal=USR2@300: the job ends in '(59|60)' s, so the ranks get no notice; choose a longer --time, or fewer seconds' ]]
}
