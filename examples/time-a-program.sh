#!/bin/sh
# Times one program: ten executions after a warm-up. Everything is stored, so the whole report can be printed afterwards.
. "$(dirname "$0")/begin.sh"

tare run -- gzip -6 -k -c numbers.txt
echo
tare show last --full
