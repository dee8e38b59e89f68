#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SLURM on hosts that hosts.sh makes: slurm.sh COUNT COMMAND... runs COMMAND on host1, from where srun and salloc reach all of them
# (four processes on each), as in `slurm.sh 2 srun -N 2 -n 4 --mpi=pmix hostname`. Nothing of it is left afterwards. Exit status 77,
# with the reason: it cannot be started here (Debian: slurm-wlm and munge; as root, for slurmd starts nothing for others).
set -euo pipefail

if [ "${SHARDBOARD_SLURM:-}" != inside ]; then
    for program in munged slurmctld slurmd srun; do
        command -v $program > /dev/null || { echo "there is no '$program' here" >&2; exit 77; }
    done
    [ "$(id -u)" = 0 ] || { echo "only root can start SLURM's daemons" >&2; exit 77; }
    export SHARDBOARD_SLURM=inside
    exec "$(dirname "$0")/hosts.sh" "$1" "$0" "$@"
fi

count=$1
shift
mkdir -p /run/slurm/state /run/munge /run/log
(umask 077 && head -c 128 /dev/urandom > /run/munge/key)
munged --force --key-file=/run/munge/key --socket=/run/munge/socket --pid-file=/run/munge/pid --seed-file=/run/munge/seed \
    --log-file=/run/log/munged 2> /dev/null
for ((i = 1; i <= count; ++i)); do
    # A folder for each host: those of this machine are shared.
    mkdir -p "/run/slurm/host$i/pmix"
    echo "PMIxCliTmpDirBase=/run/slurm/host$i/pmix" > "/run/slurm/host$i/mpi.conf"
    cat > "/run/slurm/host$i/slurm.conf" << CONF
ClusterName=test
SlurmctldHost=host1
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/run/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MailProg=/bin/true
StateSaveLocation=/run/slurm/state
SlurmdSpoolDir=/run/slurm/%n
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/%n.pid
SlurmctldLogFile=/run/log/slurmctld
SlurmdLogFile=/run/log/%n
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
DebugFlags=NO_CONF_HASH
ReturnToService=2
NodeName=host[1-$count] CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
done
export SLURM_CONF=/run/slurm/host1/slurm.conf
slurmctld
slurmd -N host1
for ((i = 2; i <= count; ++i)); do /run/agent "host$i" "SLURM_CONF=/run/slurm/host$i/slurm.conf slurmd -N host$i"; done
for ((waited = 0; waited < 100; ++waited)); do
    [ "$(sinfo -h -t idle -o %D 2> /dev/null)" != "$count" ] || exec "$@"
    sleep 0.1
done
tail -n 5 /run/log/* >&2
echo "SLURM did not start" >&2
exit 77
