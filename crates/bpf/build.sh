#!/bin/sh
# Compiles the kernel programs. Their objects are committed, so that users need no clang; scripts/check-generated.sh
# proves in CI that they are current. Usage: build.sh [OUTPUT-FOLDER]
set -eu
cd "$(dirname "$0")/src"
out=${1:-.}
arch=$(uname -m)
# One definition of the records for both sides.
layout() { # HEADER
    echo "// Made by build.sh from $1."
    sed -n 's|^#define \([A-Z_]*\) \([0-9]*\)$|pub const \1: usize = \2;|p' "$1"
}
{
    layout account.h
    echo 'pub const VECTOR_NAMES: &[&str] = &['
    sed -n 's|^X([0-9]*, \([a-z_0-9]*\))$|    "\1",|p' account_vectors.h
    echo '];'
} >"$out/account_layout.rs"
layout timeline.h >"$out/timeline_layout.rs"
for source in *.bpf.c; do
    object="$out/${source%.c}.o"
    clang -O2 -g -Wall -Werror -target bpf -mcpu=v3 -fdebug-prefix-map="$PWD=." -I"/usr/include/$arch-linux-gnu" -c "$source" -o "$object"
    # Debugging sections hold paths and are not needed; BTF stays.
    llvm-strip -g "$object"
done
