#!/bin/sh
# A Slurm cluster of several nodes on this machine, for tests: all files in one folder, all daemons as processes that are ended by
# their ids. Needs root and what `scripts/setup.sh slurm` installs (a build with --enable-multiple-slurmd, as Debian's), no service manager.
#     lab-slurm.sh start FOLDER [NODES]     starts munged, slurmctld and NODES (2) slurmd; FOLDER is made, and must not exist
#     lab-slurm.sh stop FOLDER              ends the daemons and what is left of their jobs; FOLDER stays, with the logs
#     lab-slurm.sh controller FOLDER [KILL] restarts slurmctld: with KILL by SIGKILL, else by SIGTERM
#     lab-slurm.sh kill-node FOLDER N       kills the slurmd of node N (from 1) and all of its jobs by SIGKILL, as a power cut would
#     lab-slurm.sh start-node FOLDER N      starts it again
# Commands of Slurm find the cluster by SLURM_CONF=FOLDER/slurm.conf.
set -eu
PATH=$PATH:/usr/sbin:/sbin
fail() { echo "lab-slurm.sh: $1" >&2; exit "${2:-4}"; }
usage() { fail "usage: lab-slurm.sh start|stop|controller|kill-node|start-node FOLDER […]" 2; }
[ $# -ge 2 ] || usage
what=$1
case $2 in /*) dir=$2 ;; *) dir=$PWD/$2 ;; esac
shift 2
# By its name the processes of jobs are known.
cluster=lab$(printf %s "$dir" | cksum | cut -d' ' -f1)
SLURM_CONF=$dir/slurm.conf
export SLURM_CONF

# Waits until a command succeeds, for at most 30 s.
until_true() { # COMMAND ARGUMENTS…
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || return 1
        sleep 0.1
    done
}

# Starts a daemon in the background, in a session of its own, so that it outlives this script and its terminal.
daemon() { # NAME COMMAND ARGUMENTS…
    name=$1
    shift
    setsid "$@" >>"$dir/$name.out.log" 2>&1 </dev/null &
    echo $! >"$dir/$name.started"
}

# Whether the daemon of this name runs. A process that got its number afterwards does not name the folder in its arguments.
alive() { # NAME
    pid=$(cat "$dir/$1.started" 2>/dev/null) && tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "$dir"
}
ended() { ! alive "$1"; }

end() { # NAME SIGNAL
    alive "$1" || return 0
    kill "-$2" "$pid" 2>/dev/null || :
    until_true ended "$1" || { alive "$1" && kill -KILL "$pid"; } || :
}

# The processes of a node's jobs, the step daemons that start them first: these write to the node's log, also before a job runs.
job_processes() { # NODE
    for comm in $(grep -slx slurmstepd /proc/[0-9]*/comm); do
        process=${comm#/proc/}
        process=${process%/comm}
        # What has ended meanwhile cannot be read.
        if find "/proc/$process/fd" -lname "$dir/slurmd-$1.log" 2>/dev/null | grep -q .; then echo "$process"; fi
    done
    grep -slzx "SLURM_CLUSTER_NAME=$cluster" /proc/[0-9]*/environ | xargs -r grep -slzx "SLURMD_NODENAME=$1" | cut -d/ -f3
}

kill_jobs() { # NODE
    # shellcheck disable=SC2046
    kill -KILL $(job_processes "$1") 2>/dev/null || :
}

controller() { daemon slurmctld slurmctld -D -f "$dir/slurm.conf"; }
# Each node has a machine id and locks of its own, as a machine would; what is mounted ends with its last process.
node() {
    # shellcheck disable=SC2016
    daemon "slurmd-n$1" unshare --mount sh -ec '
        mount -t tmpfs tmpfs /run/lock
        mount --bind "$1" /etc/machine-id
        shift
        exec "$@"' sh "$dir/machine-id-n$1" slurmd -D -N "n$1" -f "$dir/slurm.conf"
}
answers() { scontrol ping 2>/dev/null | grep -q ' is UP'; }
idle() { [ "$(sinfo -h -N -o %T | sort -u)" = idle ]; }

configuration() { # NODES
    # Free ports: of the controller, and of each node.
    ports=$(python3 - "$(($1 + 1))" <<'PYTHON'
import socket, sys
taken = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in taken:
    s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in taken))
PYTHON
    )
    host=$(hostname -s)
    cat <<CONF
ClusterName=$cluster
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$dir/munge.socket
SlurmctldPort=${ports%% *}
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool-%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd-%n.log
# No cgroups, because the machine's service manager owns them.
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/none
TaskPlugin=task/none
# What has ended, for sacct --completion.
JobCompType=jobcomp/filetxt
JobCompLoc=$dir/completed
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1
# A node that does not answer is down after this many seconds, and its jobs are queued again.
SlurmdTimeout=5
SlurmctldTimeout=30
KillWait=2
JobRequeue=1
ReturnToService=2
# All nodes claim the whole machine.
SlurmdParameters=config_overrides
CONF
    number=0
    for port in ${ports#* }; do
        number=$((number + 1))
        echo "NodeName=n$number NodeHostname=$host NodeAddr=127.0.0.1 Port=$port CPUs=2 State=UNKNOWN"
    done
    echo "PartitionName=lab Nodes=n[1-$1] Default=YES MaxTime=INFINITE State=UP"
}

start() { # NODES
    [ "$(id -u)" -eq 0 ] || fail "Slurm's daemons need root"
    for needed in munged slurmctld slurmd sinfo python3 unshare; do
        command -v $needed >/dev/null || fail "$needed is missing: scripts/setup.sh slurm"
    done
    mkdir -m 755 "$dir" || fail "the folder of a cluster must not exist before"
    mkdir "$dir/state"
    (umask 077 && head -c 1024 /dev/urandom >"$dir/munge.key")
    configuration "$1" >"$dir/slurm.conf"
    daemon munged munged --foreground --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" \
        --pid-file="$dir/munged.pid" --log-file="$dir/munged.log" --seed-file="$dir/munged.seed"
    until_true test -S "$dir/munge.socket" || { cat "$dir"/munged*.log >&2; fail "munged does not start"; }
    controller
    for number in $(seq "$1"); do
        mkdir "$dir/spool-n$number"
        printf '%s n%s' "$dir" "$number" | md5sum | cut -d' ' -f1 >"$dir/machine-id-n$number"
        node "$number"
    done
    until_true idle || { tail -n 20 "$dir"/slurm*.log >&2; fail "Slurm does not start"; }
}

stop() {
    # The jobs first, then in the reverse order of the start.
    if alive slurmctld; then scancel --state=PENDING --user=root 2>/dev/null || :; fi
    for file in "$dir"/slurmd-*.started; do
        [ -e "$file" ] || continue
        name=${file##*/}
        name=${name%.started}
        end "$name" TERM
        kill_jobs "${name#slurmd-}"
    done
    end slurmctld TERM
    end munged TERM
}

case $what in
start) start "${1:-2}" ;;
stop) stop ;;
controller)
    if [ "${1:-}" = KILL ]; then end slurmctld KILL; else end slurmctld TERM; fi
    controller
    until_true answers || fail "slurmctld does not answer"
    ;;
kill-node)
    end "slurmd-n$1" KILL
    kill_jobs "n$1"
    ;;
start-node)
    node "$1"
    ;;
*) usage ;;
esac
