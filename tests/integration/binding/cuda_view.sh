#!/bin/bash
# What CUDA makes of a task's environment on a node with a made-up driver: the GPUs that the task may
# use, each with its minor and whether its device file may be opened, and the task's CPUs. Without
# PCI_BUS_ID CUDA may count in another order: then the numbers stay numbers.
shopt -s nullglob

# Nothing answers for the file: "No such device or address" comes after the permission was given.
opens() {
    local answer
    [[ -e $1 ]] || return 1 # a container may lack it; bash would make it
    answer=$( (exec 3<>"$1") 2>&1)
    [[ ! $answer || $answer == *'No such device or address'* ]]
}

counted=() # what CUDA counts: GPUs that this process can open, in PCI order
declare -A by_uuid=() minor_of=()
for folder in /proc/driver/nvidia/gpus/*; do
    address=${folder##*/}
    minor_of[$address]=$(sed -n 's/^Device Minor: *//p' "$folder/information")
    by_uuid[$(sed -n 's/^GPU UUID: *//p' "$folder/information")]=$address
    opens "/dev/nvidia${minor_of[$address]}" && counted+=("$address")
done

text=''
for name in ${CUDA_VISIBLE_DEVICES//,/ }; do
    if [[ $name == GPU-* ]]; then
        address=${by_uuid[$name]}
    elif [[ ${CUDA_DEVICE_ORDER-} == PCI_BUS_ID ]]; then
        address=${counted[name]-}
    else
        text+=" $name" && continue
    fi
    if [[ $address ]] && opens "/dev/nvidia${minor_of[$address]}"; then opened=yes; else opened=no; fi
    text+=" ${address:5:2}/nvidia${minor_of[$address]-}=$opened"
done
printf '%s:%s CPUs %s\n' "$SLURM_LOCALID" "${text:- none}" "$(taskset -pc $$ | sed 's/.*: //')"
