#!/bin/sh
# Runs a command within a temporary Slurm cluster: this machine is its only node, its files are in a folder that is removed afterwards.
# For testing batch scripts without a cluster. Needs root and what `scripts/setup.sh slurm` installs, but no service manager.
#     mpi/with-slurm.sh COMMAND ARGUMENTS
set -eu
[ $# -gt 0 ] || { echo 'usage: with-slurm.sh COMMAND ARGUMENTS' >&2; exit 2; }
PATH=$PATH:/usr/sbin:/sbin
for needed in munged slurmctld slurmd sinfo; do
    command -v $needed >/dev/null || { echo "with-slurm.sh: $needed is missing: scripts/setup.sh slurm" >&2; exit 4; }
done
dir=$(mktemp -d)
chmod 755 "$dir"
pids=
finish() {
    # In reverse order of their start: the node, then its controller, then munge, with which both sign their messages.
    for pid in $pids; do
        kill "$pid" 2>/dev/null || continue
        wait "$pid" 2>/dev/null || :
    done
    [ -z "${SLURM_KEEP_LOGS:-}" ] || cp "$dir"/*.log "$SLURM_KEEP_LOGS"/ || :
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

host=$(hostname -s)
port=$((20000 + $$ % 20000))
mkdir "$dir/state" "$dir/spool"
(umask 077 && head -c 1024 /dev/urandom >"$dir/munge.key")
cat >"$dir/slurm.conf" <<CONF
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$dir/munge.socket
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
# No cgroups, because the machine's service manager owns them.
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/none
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=here Nodes=$host Default=YES State=UP
CONF

munged --foreground --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/munged.log" --seed-file="$dir/munged.seed" >"$dir/munged.out.log" 2>&1 &
pids="$! $pids"
while [ ! -S "$dir/munge.socket" ]; do
    kill -0 "$!" 2>/dev/null || { cat "$dir"/munged*.log >&2; exit 4; }
    sleep 0.1
done
slurmctld -D -c -f "$dir/slurm.conf" >/dev/null 2>&1 &
pids="$! $pids"
slurmd -D -c -N "$host" -f "$dir/slurm.conf" >/dev/null 2>&1 &
pids="$! $pids"
SLURM_CONF=$dir/slurm.conf
export SLURM_CONF
tries=0
until [ "$(sinfo -h -o %T 2>/dev/null)" = idle ]; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { tail -n 20 "$dir/slurmctld.log" "$dir/slurmd.log" >&2; exit 4; }
    sleep 0.1
done
code=0
"$@" || code=$?
exit $code
