#!/bin/sh
# Installs each artefact of `make dist` into a clean Debian system and does the main job there: a run, tare doctor, a C program. Prints
# the sizes, and the start-up time of the command relative to `true`. Needs root, and Debian's packages from the mirror that apt has.
# Usage: dist-test.sh [FOLDER], by default target/dist. Takes some minutes; the clean system is kept in target/dist-test.
set -eu
cd "$(dirname "$0")/.."
dist=$(realpath "${1:-target/dist}")
work=$(realpath -m target/dist-test)
# The system that every test begins with, with a C compiler and Python, but without anything of tare.
base=$work/base.tar
packages=gcc,libc6-dev,pkg-config,python3-venv
failed=

[ -e "$dist/SHA256SUMS" ] || { echo "$dist/SHA256SUMS is not there: make dist" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || { echo "dist-test.sh needs root, for chroot and mounts" >&2; exit 1; }
mkdir -p "$work"

# The mirror of this machine's Debian, as apt has it: `URI SUITE`.
mirror() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(CODENAME)' 'Identifier: Packages' |
        awk -v suite="$1" '$2 == suite && $3 == "main" && !/security/ { print $1; exit }'
}

base_system() {
    [ ! -s "$base" ] || return 0
    command -v debootstrap >/dev/null 2>&1 || {
        apt-get install -y -qq --no-install-recommends debootstrap >/dev/null 2>&1 ||
            { apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap >/dev/null; }
    }
    suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    from=$(mirror "$suite")
    [ -n "$from" ] || { echo "apt has no mirror for $suite; expected one in /etc/apt/sources.list" >&2; exit 1; }
    echo "Making a clean system of $suite from $from …"
    rm -rf "$work/new"
    debootstrap --variant=minbase --include="$packages" "$suite" "$work/new" "$from" >"$work/debootstrap.log" 2>&1 ||
        { tail -n 20 "$work/debootstrap.log" >&2; exit 1; }
    rm -rf "$work/new/var/cache/apt/archives"/*.deb
    tar --directory "$work/new" -cf "$base.new" .
    mv "$base.new" "$base"
    rm -rf "$work/new"
}

# A fresh system in $system, in which /dist is the folder of the artefacts.
fresh() {
    system=$work/system
    rm -rf --one-file-system "$system"
    mkdir -p "$system"
    tar --directory "$system" -xf "$base"
    mkdir -p "$system/dist" "$system/examples"
    cp "$dist"/*.* "$dist/SHA256SUMS" "$system/dist/"
    cp bindings/c/examples/*.c "$system/examples/"
}

# Runs a script in the system. Its mounts are in a name space of their own and end with it.
inside() { # SCRIPT
    # shellcheck disable=SC2016
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        unshare --mount --fork sh -ec '
            mount --make-rprivate /
            mount -t proc proc "$1/proc"
            mount --rbind /sys "$1/sys"
            mount --rbind /dev "$1/dev"
            exec chroot "$1" sh -exc "cd /root; $2"' sh "$system" "$1" </dev/null
}

# The main job: three samples, stored; the machine is checked (1: a factor is not as recommended); how long a start takes.
job='
    tare run -r3 -- true | tee result
    grep -q "3 samples" result
    grep -q "^run 1 " result
    tare list | grep -q finished
    tare doctor >doctor || [ $? -eq 1 ]
    grep -q "as recommended" doctor
    tare run --db none --order rounds --compare-by elapsed -r 30 -n true -n tare "true" "tare --version" | tee start
    grep "times as" start >/start-up || tail -n 3 start >/start-up
'

check() { # NAME SCRIPT
    printf '\n== %s\n' "$1"
    fresh
    if inside "$2" >"$work/log" 2>&1; then
        echo "ok: $1"
        [ ! -e "$system/start-up" ] || sed 's/^/  start-up: /' "$system/start-up"
    else
        echo "FAILED: $1" >&2
        tail -n 40 "$work/log" >&2
        failed="$failed $1"
    fi
}

# The first file of a pattern, by its name alone; empty if there is none.
one() {
    find "$dist" -maxdepth 1 -name "$1" -printf '%f\n' | LC_ALL=C sort | head -n 1
}

(cd "$dist" && sha256sum --check --quiet SHA256SUMS)
printf '== sizes\n'
(cd "$dist" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%10s bytes  %f\n' | LC_ALL=C sort -k3)
base_system

archive=$(one 'tare-*-x86_64-linux-musl.tar.gz')
if [ -n "$archive" ]; then
    check "static binary" "
        tar -C /usr/local --strip-components=1 -xf /dist/$archive
        if ldd /usr/local/bin/tare | grep '=>'; then exit 1; fi
        test -s /usr/local/share/man/man1/tare.1
        # The larger programs, which tare starts in its place.
        tare study --json >/dev/null
        tare lab --help >/dev/null
        $job"
fi

deb=$(one 'tarebench_*_amd64.deb')
if [ -n "$deb" ]; then
    check "Debian package" "
        dpkg -i /dist/$deb
        test -s /usr/share/man/man1/tare.1.gz
        tare study --json >/dev/null
        tare lab --help >/dev/null
        test -s /usr/share/bash-completion/completions/tare
        test -s /usr/lib/systemd/system/tare-lab-agent.service
        test -s /usr/share/tare/tare-lab-agent.env
        test -z \"\$(find /etc/systemd/system -name 'tare-lab-agent*')\"
        $job
        dpkg -r tarebench
        test ! -e /usr/bin/tare"
fi

program='
    cc -Wall -Werror /examples/outcome.c $(pkg-config --cflags --libs tare) -o outcome
    ./outcome
    cc -Wall -Werror /examples/outcome.c $(pkg-config --cflags tare) -l:libtare.a $(pkg-config --static --libs tare |
        sed "s/-ltare//") -o outcome-static
    ./outcome-static
'
dev=$(one 'libtare-dev_*_amd64.deb')
if [ -n "$dev" ]; then
    check "Debian package of the C library" "
        dpkg -i /dist/$dev
        test \"\$(readlink /usr/lib/libtare.so)\" = libtare.so.0
        $program"
fi

library=$(one 'libtare-*-x86_64-linux-gnu.tar.gz')
if [ -n "$library" ]; then
    check "archive of the C library" "
        tar -C /usr/local --strip-components=1 -xf /dist/$library
        ldconfig
        $program"
fi

wheel=$(one '*.whl')
if [ -n "$wheel" ]; then
    check "Python wheel" "
        python3 -m venv venv
        venv/bin/pip install --no-index --no-deps /dist/$wheel
        PATH=\$PWD/venv/bin:\$PATH
        python3 -c 'import tarebench'
        $job"
fi

arm=$(one 'tare-*-aarch64-linux-musl.tar.gz')
if [ -n "$arm" ]; then
    printf '\n== static binary, aarch64\n'
    rm -rf "$work/aarch64"
    mkdir -p "$work/aarch64"
    tar -C "$work/aarch64" --strip-components=1 -xf "$dist/$arm"
    if ! readelf -h "$work/aarch64/bin/tare" | grep -q AArch64 || readelf -l "$work/aarch64/bin/tare" | grep -q INTERP; then
        echo "FAILED: $arm holds no static program for aarch64" >&2
        failed="$failed aarch64"
    elif command -v qemu-aarch64-static >/dev/null 2>&1; then
        qemu-aarch64-static "$work/aarch64/bin/tare" --version || failed="$failed aarch64"
        echo "only started, by qemu: that does not do the system calls of a run"
    else
        echo "a static program for aarch64; not run: this machine is none, and there is no qemu-aarch64-static"
    fi
fi

rm -rf --one-file-system "$work/system" "$work/aarch64"
if [ -n "$failed" ]; then
    printf '\nFailed:%s\n' "$failed" >&2
    exit 1
fi
printf '\nAll artefacts work in a clean system.\n'
