#!/bin/sh
# Records a number that a program prints: here the time that dd reports for what it copied, beside the time that tare measures.
. "$(dirname "$0")/begin.sh"

tare run --metric 'copied_s=copied, ([0-9.e-]+) s' -n small -n large \
    'dd if=/dev/zero of=/dev/null bs=4k count=400000' \
    'dd if=/dev/zero of=/dev/null bs=64k count=25000'
