#!/bin/sh
# Installs the C library, its header and its pkg-config file into a folder, for use below PREFIX (a package is moved there later).
set -eu
LIBRARIES=${LIBRARIES:?the folder of libtare.so and libtare.a}
into=${1:?usage: install-library.sh FOLDER PREFIX}
prefix=${2:?usage: install-library.sh FOLDER PREFIX}
source=$(dirname "$0")/../bindings/c
version=$(sed -n 's/^#define TARE_VERSION "\(.*\)"$/\1/p' "$source/include/tare.h")

install -D -m 644 "$source/include/tare.h" "$into/include/tare.h"
install -D -m 644 "$LIBRARIES/libtare.a" "$into/lib/libtare.a"
install -m 755 "$LIBRARIES/libtare.so" "$into/lib/libtare.so.$version"
# The name for the linker, and the name that linked programs load.
ln -sf "libtare.so.$version" "$into/lib/libtare.so.0"
ln -sf libtare.so.0 "$into/lib/libtare.so"
install -d "$into/lib/pkgconfig"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" "$source/tare.pc.in" >"$into/lib/pkgconfig/tare.pc"
chmod 644 "$into/lib/pkgconfig/tare.pc"
echo "Installed: $into/lib/libtare.so, $into/lib/libtare.a, $into/include/tare.h"
