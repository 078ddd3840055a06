#!/bin/sh
# Installs what is missing for the named purposes: rust (only checks), build, run, test, bench, machines, mpi, slurm.
# Does nothing and needs no privilege if nothing is missing.
set -eu

purposes="$*"
missing=
need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}

rust() {
    command -v cargo >/dev/null 2>&1 || {
        echo 'tare needs a Rust toolchain, 1.88 or later, with cargo (https://rustup.rs).' >&2
        exit 1
    }
    version=$(rustc --version | cut -d' ' -f2)
    minor=$(echo "$version" | cut -d. -f2)
    if [ "${version%%.*}" -eq 1 ] && [ "$minor" -lt 88 ]; then
        echo "tare needs Rust 1.88 or later, this is $version (rustup update)." >&2
        exit 1
    fi
}

mpi() {
    # Any MPI library works; install Open MPI if there is none.
    need mpicc libopenmpi-dev
    need mpirun openmpi-bin
}

postgresql() {
    # Debian does not put the server's programs on the path.
    for initdb in /usr/lib/postgresql/*/bin/initdb; do
        [ ! -x "$initdb" ] || return 0
    done
    need initdb postgresql
}

# Debian's Chromium without windows takes half the CPU time of the other. It is installed beside another browser, too, if that takes
# neither a password nor new package lists.
browser() {
    ! command -v chromium-headless-shell >/dev/null 2>&1 || return 0
    if command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1; then
        { [ "$(id -u)" -eq 0 ] && apt-cache show chromium-headless-shell >/dev/null 2>&1; } || return 0
    fi
    missing="$missing chromium-headless-shell"
}

for purpose in "$@"; do
    case $purpose in
    rust) rust ;;
    build)
        # A compiler without the headers of the C library cannot build the dependencies.
        # shellcheck disable=SC2016
        if ! echo '#include <stdio.h>' | cc -E - >/dev/null 2>&1; then missing="$missing gcc libc6-dev"; fi
        ;;
    run)
        need gzip gzip
        need xz xz-utils
        ;;
    test)
        need git git
        need hyperfine hyperfine
        need strace strace
        need unshare util-linux
        need mount mount
        need setpriv util-linux
        need capsh libcap2-bin
        need setfacl acl
        need dbus-daemon dbus
        need clang clang
        need llvm-strip llvm
        need script bsdutils
        need python3 python3
        # Of the script that runs the CI templates.
        python3 -c 'import yaml' 2>/dev/null || missing="$missing python3-yaml"
        # Prometheus' own parser reads what the lab's web application serves.
        /usr/bin/python3 -c 'import prometheus_client' 2>/dev/null || missing="$missing python3-prometheus-client"
        # Google Benchmark's own comparison reads what a gate exports.
        [ -e /usr/share/benchmark/compare.py ] || missing="$missing libbenchmark-tools"
        /usr/bin/python3 -c 'import scipy' 2>/dev/null || missing="$missing python3-scipy"
        need c++ g++
        need pkg-config pkg-config
        need oslat rt-tests
        # The lab's tests start a server of their own.
        postgresql
        # The web report is built and tested in a browser.
        need node nodejs
        need npm npm
        browser
        mpi
        # Headers that the eBPF programs include.
        [ -e /usr/include/bpf/bpf_helpers.h ] || missing="$missing libbpf-dev"
        ;;
    machines)
        need python3 python3
        need qemu-system-x86_64 qemu-system-x86
        need qemu-system-aarch64 qemu-system-arm
        need debootstrap debootstrap
        # A guest has no libraries for another one.
        if ! ldd "$(command -v busybox)" 2>&1 | grep -q 'not a dynamic'; then missing="$missing busybox-static"; fi
        ;;
    mpi) mpi ;;
    slurm)
        mpi
        # The nodes of a test are in name spaces of their own.
        need unshare util-linux
        need munged munge
        need slurmctld slurmctld
        need slurmd slurmd
        need sbatch slurm-client
        ;;
    bench)
        need hyperfine hyperfine
        need perf linux-perf
        need python3 python3
        need c++ g++
        need oslat rt-tests
        [ -e /usr/include/benchmark/benchmark.h ] || missing="$missing libbenchmark-dev"
        ;;
    *)
        echo "setup.sh: unknown purpose $purpose" >&2
        exit 2
        ;;
    esac
done

node_modules() {
    case " $purposes " in
    *" test "*) ;;
    *) return ;;
    esac
    # Install the locked versions, only if the lock has changed. Not by `npm ci`, which requires the optional packages of every
    # platform in the lock: it holds those of Linux. scripts/check-dependencies.py finds a lock that is not current. No package
    # may run a script of its own; none needs one.
    if ! cmp -s web/package-lock.json web/node_modules/.installed-lock; then
        (cd web && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error) >/dev/null && cp web/package-lock.json web/node_modules/.installed-lock
    fi
}
cd "$(dirname "$0")/.."
if [ -z "$missing" ]; then
    node_modules
    exit 0
fi
# shellcheck disable=SC2086
missing=$(printf '%s\n' $missing | sort -u | tr '\n' ' ')
# Ubuntu has perf in another package.
if grep -q '^ID=ubuntu' /etc/os-release 2>/dev/null; then
    missing=$(echo "$missing" | sed 's/linux-perf/linux-tools-generic/')
fi

if ! command -v apt-get >/dev/null 2>&1; then
    echo "Missing, and this machine has no apt to install it: $missing" >&2
    exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
    sudo=
elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    sudo=sudo
else
    echo "Missing; as root: apt-get install $missing" >&2
    exit 1
fi
echo "Installing: $missing" >&2
# The package of PostgreSQL would make a cluster of its own and start it; the tests need only its programs.
no_cluster=/etc/postgresql-common/createcluster.d/tare-test.conf
case " $missing " in
*" postgresql "*)
    $sudo mkdir -p "${no_cluster%/*}"
    echo 'create_main_cluster = false' | $sudo tee "$no_cluster" >/dev/null
    trap '$sudo rm -f "$no_cluster"' EXIT
    ;;
esac
export DEBIAN_FRONTEND=noninteractive
# On a fresh machine the package lists may be empty or old; otherwise they need not be fetched again.
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 </dev/null || {
    $sudo apt-get update -qq
    # Not all distributions have it; Ubuntu's package chromium installs a snap.
    apt-cache show chromium-headless-shell >/dev/null 2>&1 || missing=$(echo "$missing" | sed 's/chromium-headless-shell/chromium/')
    $sudo apt-get install -y -qq --no-install-recommends $missing </dev/null
}
node_modules
