# Whether installed programs and libraries are built as a daemon's plugin should be: what an error
# in memory could be made to do, the linker and the compiler make harder.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the tests use what is set here

# A line for each protection that the file lacks.
lacks() { # FILE
    local headers dynamic asked
    headers=$(readelf --wide --file-header --program-headers "$1")
    dynamic=$(readelf --wide --dynamic "$1")
    asked=$(nm --dynamic --undefined-only --format=just-symbols "$1")
    grep -qE '^ +GNU_RELRO ' <<<"$headers" || echo "RELRO: what the loader has filled in can be written"
    grep -qE 'BIND_NOW|Flags:.* NOW' <<<"$dynamic" || echo "BIND_NOW: the table of functions stays writable"
    grep -qE '^ +GNU_STACK .* RW +0' <<<"$headers" || echo "NX: the stack is executable"
    grep -qE '^ +Type: +DYN ' <<<"$headers" || echo "PIE: it lies at a fixed address"
    [[ $1 == *.so* ]] || grep -qE 'Flags:.* PIE' <<<"$dynamic" || echo "PIE: a library that runs"
    # A static program asks for nothing.
    if [[ $asked ]]; then
        grep -q '^__stack_chk_fail@' <<<"$asked" || echo "stack protector: no function has the C library's"
        grep -q '^__[a-z]*_chk@' <<<"$asked" || echo "FORTIFY: no call is checked"
    fi
    ! grep -q 'Machine: .* X86-64' <<<"$headers" || lacks_cet "$1"
}

# Intel's control-flow enforcement. The mark for the loader is there only where all the toolchain's
# own objects have it, which Debian 12's have not; the code is there everywhere.
lacks_cet() { # FILE
    local mark='x86 feature: IBT, SHSTK' empty=$BATS_FILE_TMPDIR/empty
    [[ -e $empty ]] || cc -fcf-protection -x c -o "$empty" - <<<'int main(void) { return 0; }'
    if readelf --notes "$empty" | grep -q "$mark"; then
        readelf --notes "$1" 2>/dev/null | grep -q "$mark" || echo "CET: no note"
    fi
    [[ $(first_instructions "$1") == endbr64 ]] || echo "CET: its functions have no landing pads"
}

# The different first instructions of the functions that a library exports; of a program, which
# exports none, of all that its code has several hundred times.
first_instructions() { # FILE
    local address functions
    functions=$(nm --dynamic --defined-only "$1" | sed -n 's/ T .*//p')
    if [[ ! $functions || $1 != *.so* ]]; then
        (($(objdump --disassemble "$1" | grep -c endbr64) < 300)) || echo endbr64
        return
    fi
    for address in $functions; do
        objdump --disassemble --no-show-raw-insn --start-address="0x$address" \
            --stop-address="$((0x$address + 4))" "$1" | awk 'END { print $2 }'
    done | sort -u
}

# What is installed, of all packages together.
programs=(spank_distgpu.so spank_distgpu_step.so distgpu distgpu-sampler distgpu-task nccl-scaling libnccl_scaling_mpi.so)

# Fails with what each program and library below the folder lacks; and unless it is these, by name.
all_hardened() { # FOLDER NAME...
    local folder=$1 file names=() problem failed=0
    shift
    while read -r file; do
        [[ $(head -c 4 "$file" | tr -d '\0') == $'\x7fELF' ]] || continue
        names+=("${file##*/}")
        problem=$(lacks "$file")
        [[ -z $problem ]] || { printf "${file##*/}: %s\n" "$problem" && failed=1; }
    done < <(find "$folder" -type f)
    diff <(printf '%s\n' "$@" | sort) <(printf '%s\n' "${names[@]}" | sort) || failed=1
    return "$failed"
}
