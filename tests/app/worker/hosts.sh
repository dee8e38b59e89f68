#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Several hosts on this machine: hosts.sh COUNT COMMAND... makes host1, host2, … and runs COMMAND on host1, with its exit status.
# Each has a name, a network, processes, shared memory and, where the kernel can do it, a clock of its own; files are those of this
# machine. Only these hosts can be reached from them. mpirun finds the others (`--host host1:2,host2:2`) through what is set here.
# All of it is gone when COMMAND has ended or this script has been killed. Exit status 77, with the reason: it may not make them.
# The first process of host2 is called `host2`: killed, it takes its host with it.
set -euo pipefail

if [ "${SHARDBOARD_HOSTS:-}" != inside ]; then
    for program in ip mount nsenter unshare; do
        command -v $program > /dev/null || { echo "there is no '$program' here" >&2; exit 77; }
    done
    user=()
    [ "$(id -u)" = 0 ] || user=(--user --map-root-user)
    world=("${user[@]}" --mount --uts --ipc --net --pid --fork --kill-child --mount-proc)
    trial='mount -t tmpfs none /run && ip link add hosts type bridge && ip link add trial0 type veth peer name trial1'
    refused=$(unshare "${world[@]}" -- sh -c "$trial" 2>&1) || { echo "no namespaces here: $refused" >&2; exit 77; }
    export SHARDBOARD_HOSTS=inside
    exec unshare "${world[@]}" -- "$0" "$@"
fi

count=$1
ahead=()
shift
mount -t tmpfs none /run
clocks=()
! unshare --time true 2> /dev/null || clocks=(--time)
ip link set lo up
ip link add hosts type bridge
ip link set hosts up
echo "127.0.0.1 localhost" > /run/names
for ((i = 1; i <= count; ++i)); do echo "10.88.0.$i host$i" >> /run/names; done
mount --bind /run/names /etc/hosts

# As `ssh HOST COMMAND...`, but returns at once: processes of a host see none of another one, so the wish is handed to us.
mkfifo /run/wishes
printf '#!/bin/sh\necho "$*" > /run/wishes\n' > /run/agent
chmod +x /run/agent
on() { # HOST COMMAND
    TMPDIR=/run/tmp.$1 nsenter --target "$(cat "/run/$1")" --mount --uts --ipc --net --pid "${clocks[@]}" -- /bin/sh -c "$2"
}

for ((i = 1; i <= count; ++i)); do
    mkdir "/run/tmp.host$i"
    [ ${#clocks[@]} = 0 ] || ahead=(--monotonic $((100000 * i)))
    unshare --mount --uts --ipc --net --pid --fork --kill-child --mount-proc "${clocks[@]}" "${ahead[@]}" -- bash -c "
        hostname host$i
        mount -t tmpfs none /dev/shm
        ip link set lo up
        echo up > /run/up$i
        exec -a host$i sleep infinity" &
    for ((waited = 0; waited < 500; ++waited)); do [ ! -s "/run/up$i" ] || break; sleep 0.01; done
    first=$(tr -d ' ' < "/proc/$!/task/$!/children")
    echo "$first" > "/run/host$i"
    ip link add "to$i" type veth peer name eth0 netns "$first"
    ip link set "to$i" master hosts up
    nsenter --target "$first" --net -- sh -c "ip addr add 10.88.0.$i/24 dev eth0 && ip link set eth0 up"
done
(while read -r host wish; do on "$host" "$wish" < /dev/null & done) 0<> /run/wishes &

export OMPI_MCA_plm_rsh_agent=/run/agent OMPI_MCA_oob_tcp_if_include=eth0 OMPI_MCA_btl_tcp_if_include=eth0
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
set +e
on host1 "cd $(printf %q "$PWD"); exec $(printf '%q ' "$@")"
