#!/bin/sh
# What `make run` shows: INC, insertion sort, a matrix product, gzip and xz, measured by the protocol and kept in a
# store of the demonstration's own. Takes well under a minute.
set -eu
cd "$(dirname "$0")/.."
TARE=${TARE:-${CARGO_TARGET_DIR:-target}/release/tare}
demo=target/demo
mkdir -p "$demo"

# Some megabytes that compress about as text does, the same on every machine.
file=$demo/numbers.txt
if [ ! -s "$file" ]; then
    seq 1 7 4000000 >"$file.new"
    mv "$file.new" "$file"
fi

# The calibration says how many increments make a second on this machine; it is kept, so that INC stays the same work.
export TARE_CALIBRATION="$demo"
[ -n "$(find "$demo" -maxdepth 1 -name 'inc-*.json' -print -quit)" ] || "$TARE" inc --calibrate

echo "Measuring five programs, ten times each, in rounds:"
"$TARE" run --db "$demo/tare.db" -n INC -n sort -n matc -n gzip -n xz \
    "$TARE inc 0.5 --quiet" "$TARE work sort 40000" "$TARE work matc 400" "gzip -6 -k -c $file" "xz -1 -k -c $file"

"$TARE" report --db "$demo/tare.db" last -o "$demo/report.html" 2>/dev/null
echo
echo "As a web page, with every sample: $(pwd)/$demo/report.html"
echo "The run is kept in $demo/tare.db. More of it: $TARE show --db $demo/tare.db last --full"
echo "Now your own: $TARE run -- PROGRAM ARGUMENTS"
