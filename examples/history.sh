#!/bin/sh
# Shows a benchmark over commits. Each commit is measured against one that stays the same, the first; `tare history` finds the change.
. "$(dirname "$0")/begin.sh"
. "$(dirname "$started")/repository.sh"

version 1000000 "First version"
git tag first
for message in "Rename a variable" "Write a comment" "Count further" "Write another comment"; do
    case $message in
    Count*) count=1100000 ;;
    *) count=${count:-1000000} ;;
    esac
    # A comment makes it another file.
    version "$count" "$message"
    echo "# $message" >>prog
    git commit --quiet --all --amend --no-edit
    # 5 is the exit code of a regression.
    tare gate --base first --no-control --max-blocks 10 ./prog >"$work/gate" || [ $? -eq 5 ]
    echo "$message: $(head -n 1 "$work/gate")"
done
echo
tare history
