#!/bin/sh
# Makes everything that can be released on this machine, in target/dist: archives of static binaries (x86-64, and aarch64 by
# cross-compiling), Debian packages, an archive of the C library, the Python wheel, and SHA256SUMS.
# Installs tools that are missing: musl-tools, clang and llvm by apt, cargo-deb into target/tools.
# Usage: dist.sh [PART…], of: static aarch64 deb library wheel. Without PART, all of them; the sums are always of the whole folder.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
dist=$root/target/dist
stage=$dist/stage
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
tools=$root/target/tools
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
# The same contents give the same archives: their dates are that of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
PATH=$PATH:$tools/bin

step() { printf '\n== %s\n' "$1"; }

install_packages() {
    [ "$(id -u)" -eq 0 ] || { echo "Missing; as root: apt-get install $*" >&2; exit 1; }
    echo "Installing: $*" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 </dev/null || {
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends "$@" </dev/null >/dev/null
    }
}

# Without debugging information; the unstripped file stays in the target folder.
stripped() { # FILE INTO [STRIP]
    install -D -m "${4:-755}" "$1" "$2"
    "${3:-strip}" --strip-unneeded "$2"
}

documents() { # FOLDER
    install -d "$1"
    install -m 644 README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$1/"
}

archive() { # NAME: packs the folder of this name below the stage
    tar --directory "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$1" |
        gzip -9n >"$dist/$1.tar.gz"
    echo "$dist/$1.tar.gz"
}

# The command for this machine, which also writes the manual pages and the completions that all packages have.
native() {
    cargo build --release --locked -p tarebench-cli -p tarebench-papers -p tarebench-lab -p tarebench-c
}

# bin, share/man, share of the shells and the agent's unit, below a folder.
command_below() { # FOLDER BINARIES [STRIP]
    TARE=$target/release/tare scripts/install.sh "$1" >/dev/null
    rm -f "$1/bin/tare-bsp"
    rm -f "$1/share/tare/tare-bsp.sbatch"
    for program in tare tare-papers tare-lab; do
        stripped "$2/$program" "$1/bin/$program" "${3:-strip}"
    done
}

static() {
    step "static binary, x86-64"
    # SQLite and ring, which rustls uses, are C code and assembly.
    command -v musl-gcc >/dev/null 2>&1 || install_packages musl-tools
    triple=x86_64-unknown-linux-musl
    rustup target add "$triple" 2>/dev/null
    cargo build --release --locked --target "$triple" -p tarebench-cli -p tarebench-papers -p tarebench-lab
    static_archive "$triple" strip
}

static_archive() { # TRIPLE STRIP
    name=tare-$version-$(echo "$1" | sed 's/-unknown//')
    command_below "$stage/$name" "$target/$1/release" "$2"
    documents "$stage/$name"
    archive "$name"
}

aarch64() {
    step "static binary, aarch64"
    triple=aarch64-unknown-linux-musl
    code=0
    scripts/aarch64.sh cargo build --release --locked --target "$triple" -p tarebench-cli -p tarebench-papers -p tarebench-lab || code=$?
    # 3: it has said why that cannot be had here.
    [ "$code" -ne 3 ] || return 0
    [ "$code" -eq 0 ] || exit "$code"
    static_archive "$triple" llvm-strip
}

deb() {
    step "Debian packages"
    command -v cargo-deb >/dev/null 2>&1 || cargo install --locked --root "$tools" cargo-deb
    command -v dpkg-shlibdeps >/dev/null 2>&1 || install_packages dpkg-dev
    # What crates/cli/Cargo.toml names.
    rm -rf "$stage/deb" "$stage/deb-dev"
    command_below "$stage/deb" "$target/release"
    # `command` and `-dev` are two packages, of which the second has the shared library, too.
    libraries "$stage/deb-dev" /usr
    cargo deb --no-build --no-strip -p tarebench-cli --output "$dist/"
    cargo deb --no-build --no-strip -p tarebench-cli --variant dev --output "$dist/"
}

# The C library below a folder, for use below a prefix.
libraries() { # FOLDER PREFIX
    LIBRARIES=$target/release scripts/install-library.sh "$1" "$2" >/dev/null
    # The static library keeps its symbols; only what is for debuggers goes.
    strip --strip-debug "$1/lib/libtare.a"
    strip --strip-unneeded "$1/lib/libtare.so.$version"
}

library() {
    step "C library"
    name=libtare-$version-$(uname -m)-linux-gnu
    libraries "$stage/$name" /usr/local
    install -D -m 644 -t "$stage/$name/share/doc/libtare/examples" bindings/c/examples/*.c
    documents "$stage/$name/share/doc/libtare"
    archive "$name"
}

wheel() {
    step "Python wheel"
    scripts/build-wheel.sh "$dist"
}

# What an earlier version left does not belong to this one.
[ $# -gt 0 ] || rm -rf "$dist"
parts=${*:-static aarch64 deb library wheel}
mkdir -p "$dist" "$stage"
native
for part in $parts; do
    case $part in
    static | aarch64 | deb | library | wheel) "$part" ;;
    *)
        echo "dist.sh: unknown part $part; expected static, aarch64, deb, library or wheel" >&2
        exit 2
        ;;
    esac
done

rm -rf "$stage"
(
    cd "$dist"
    rm -f SHA256SUMS
    find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%f\n' | LC_ALL=C sort | xargs -r sha256sum >SHA256SUMS
    step "$dist"
    ls -l
)
