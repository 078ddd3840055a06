#!/bin/sh
# Runs a command with what cargo needs to compile static programs for aarch64-unknown-linux-musl on x86-64.
# Exits with 3, and says why, where that cannot be had. Usage: aarch64.sh COMMAND…
set -eu
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
triple=aarch64-unknown-linux-musl

install_packages() {
    [ "$(id -u)" -eq 0 ] || { echo "Missing; as root: apt-get install $*" >&2; exit 1; }
    echo "Installing: $*" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 </dev/null || {
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends "$@" </dev/null >/dev/null
    }
}

# The headers of musl for aarch64, from Debian's package for that architecture, without installing it: this machine's are of another
# architecture, whose constants and structures differ. Prints their folder, or nothing if the package cannot be had.
headers_of_aarch64() {
    into=$target/musl-aarch64
    if [ ! -e "$into/usr/include/aarch64-linux-musl/stdio.h" ]; then
        work=$(mktemp -d)
        chmod 755 "$work"
        mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
        get() {
            # Its own lists, so that the machine's stay as they are.
            apt-get -qq -o APT::Architectures::=amd64 -o APT::Architectures::=arm64 -o Dir::State::Lists="$work/lists" \
                -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root "$@" >/dev/null 2>&1
        }
        # A source that has no packages for arm64 may fail; what counts is the download.
        get update || true
        if (cd "$work" && get download musl-dev:arm64) && ls "$work"/musl-dev_*.deb >/dev/null 2>&1; then
            dpkg-deb -x "$work"/musl-dev_*.deb "$into"
        fi
        rm -rf "$work"
    fi
    if [ -e "$into/usr/include/aarch64-linux-musl/stdio.h" ]; then echo "$into/usr/include/aarch64-linux-musl"; fi
}

if ! rustup target add "$triple" 2>/dev/null; then
    echo "not made: the core library of $triple cannot be had here"
    exit 3
fi
command -v clang >/dev/null 2>&1 || install_packages clang
# strip and ar of binutils know this machine's files only.
command -v llvm-strip >/dev/null 2>&1 || install_packages llvm
headers=$(headers_of_aarch64)
if [ -z "$headers" ]; then
    echo "not made: SQLite cannot be compiled for aarch64, as Debian's package musl-dev:arm64 cannot be had here"
    exit 3
fi
# The C library that it is linked with, and the linker, come with Rust. Calls of outlined atomics would need another library.
CC_aarch64_unknown_linux_musl=clang \
    AR_aarch64_unknown_linux_musl=llvm-ar \
    CFLAGS_aarch64_unknown_linux_musl="--target=aarch64-linux-musl -nostdlibinc -isystem $headers -mno-outline-atomics" \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld \
    exec "$@"
