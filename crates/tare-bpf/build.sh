#!/bin/sh
# Compiles the kernel programs. Their objects are committed, so that users need no clang; scripts/check-generated.sh
# proves in CI that they are current. Usage: build.sh [OUTPUT-FOLDER]
set -eu
cd "$(dirname "$0")/src"
out=${1:-.}
arch=$(uname -m)
for source in *.bpf.c; do
    object="$out/${source%.c}.o"
    clang -O2 -g -Wall -Werror -target bpf -fdebug-prefix-map="$PWD=." -I"/usr/include/$arch-linux-gnu" -c "$source" -o "$object"
    # Debugging sections hold paths and are not needed; BTF stays.
    llvm-strip -g "$object"
done
