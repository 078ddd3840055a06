#!/bin/sh
# The measurement of `make run`: INC, insertion sort, a matrix product, gzip and xz, stored in target/demo. Takes less than
# a minute.
set -eu
cd "$(dirname "$0")/.."
TARE=${TARE:-${CARGO_TARGET_DIR:-target}/release/tare}
demo=target/demo
mkdir -p "$demo"

# Some megabytes of text, the same on every machine, that compress about as well as other text.
file=$demo/numbers.txt
if [ ! -s "$file" ]; then
    seq 1 7 4000000 >"$file.new"
    mv "$file.new" "$file"
fi

# The calibration is the number of increments that take a second on this machine. It is stored, so that INC always does the same work.
export TARE_CALIBRATION="$demo"
[ -n "$(find "$demo" -maxdepth 1 -name 'inc-*.json' -print -quit)" ] || "$TARE" inc --calibrate

echo "Measuring five programs, ten times each, in rounds, and each with the first one at the same time:"
"$TARE" run --db "$demo/tare.db" -n INC -n sort -n matc -n gzip -n xz \
    "$TARE inc 0.5 --quiet" "$TARE work sort 40000" "$TARE work matc 400" "gzip -6 -k -c $file" "xz -1 -k -c $file"

"$TARE" report --db "$demo/tare.db" last -o "$demo/report.html" 2>/dev/null
echo
echo "Web report with every sample: $(pwd)/$demo/report.html"
echo "The run is stored in $demo/tare.db. Details: $TARE show --db $demo/tare.db last --full"
echo "To measure your own program: $TARE run -- PROGRAM ARGUMENTS"
