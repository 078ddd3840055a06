#!/bin/sh
# Installs the command, its manual pages and completions below PREFIX; with the larger programs, if they were built, and the
# unit of the lab's agent, which is not enabled.
set -eu
TARE=${TARE:?the built command}
prefix=${1:?usage: install.sh PREFIX}

install -D -m 755 "$TARE" "$prefix/bin/tare"
for program in tare-papers tare-lab; do
    file=$(dirname "$TARE")/$program
    [ ! -x "$file" ] || install -m 755 "$file" "$prefix/bin/$program"
done
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
if [ -x "$(dirname "$TARE")/tare-lab" ]; then
    packaging=$(dirname "$0")/../packaging
    install -D -m 644 "$packaging/tare-lab-agent.service" "$prefix/lib/systemd/system/tare-lab-agent.service"
    install -D -m 644 "$packaging/tare-lab-agent.env" "$prefix/share/tare/tare-lab-agent.env"
fi
# Only if `make mpi` has built it.
bsp=$(dirname "$TARE")/tare-bsp
if [ -x "$bsp" ]; then
    install -m 755 "$bsp" "$prefix/bin/tare-bsp"
    install -D -m 644 "$(dirname "$0")/../mpi/tare-bsp.sbatch" "$prefix/share/tare/tare-bsp.sbatch"
    echo "Installed: $prefix/bin/tare-bsp, $prefix/share/tare/tare-bsp.sbatch"
fi
for program in tare tare-papers tare-lab; do
    [ ! -x "$prefix/bin/$program" ] || echo "Installed: $prefix/bin/$program"
done
