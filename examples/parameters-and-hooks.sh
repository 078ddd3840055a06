#!/bin/sh
# Times a program with several values of a parameter, with commands around it that are not timed: `--setup` once for each program,
# `--prepare` before each execution, `--cleanup` at the end. Here each execution compresses a file that is put back before it.
. "$(dirname "$0")/begin.sh"

tare run -L level 1,6 --runs 6 \
    --setup 'cp numbers.txt kept-{level}.txt' \
    --prepare 'rm -f work-{level}.txt.gz; cp kept-{level}.txt work-{level}.txt' \
    --cleanup 'rm -f kept-{level}.txt work-{level}.txt*' \
    --independent-setup \
    'gzip -{level} work-{level}.txt'
