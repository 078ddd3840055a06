#!/bin/sh
# Learns which background processes disturb measurements on this machine, and from which CPU time on. Takes four minutes, which find
# processes that run every few seconds; a night finds more (`--preset overnight`). Later runs discard samples by what was learned.
. "$(dirname "$0")/begin.sh"

tare profile --preset minutes
echo
tare run -- gzip -6 -k -c numbers.txt
