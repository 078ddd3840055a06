#!/bin/sh
# Installs the command, its manual pages and completions below PREFIX; with the program of the lab, if that was built, and the unit of
# its agent, which is not enabled.
set -eu
TARE=${TARE:?the built command}
prefix=${1:?usage: install.sh PREFIX}

install -D -m 755 "$TARE" "$prefix/bin/tare"
lab=$(dirname "$TARE")/tare-lab
[ ! -x "$lab" ] || install -m 755 "$lab" "$prefix/bin/tare-lab"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$TARE" man "$work/man"
install -d "$prefix/share/man/man1"
install -m 644 "$work"/man/*.1 "$prefix/share/man/man1/"
completion() { # SHELL FILE
    "$TARE" completions "$1" >"$work/$1"
    install -D -m 644 "$work/$1" "$prefix/share/$2"
}
completion bash bash-completion/completions/tare
completion zsh zsh/site-functions/_tare
completion fish fish/vendor_completions.d/tare.fish
if [ -x "$lab" ]; then
    packaging=$(dirname "$0")/../packaging
    install -D -m 644 "$packaging/tare-lab-agent.service" "$prefix/lib/systemd/system/tare-lab-agent.service"
    install -D -m 644 "$packaging/tare-lab-agent.env" "$prefix/share/tare/tare-lab-agent.env"
    echo "Installed: $prefix/bin/tare-lab"
fi
# Only if `make mpi` has built it.
bsp=$(dirname "$TARE")/tare-bsp
if [ -x "$bsp" ]; then
    install -m 755 "$bsp" "$prefix/bin/tare-bsp"
    install -D -m 644 "$(dirname "$0")/../mpi/tare-bsp.sbatch" "$prefix/share/tare/tare-bsp.sbatch"
    echo "Installed: $prefix/bin/tare-bsp, $prefix/share/tare/tare-bsp.sbatch"
fi
echo "Installed: $prefix/bin/tare"
