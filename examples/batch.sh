#!/usr/bin/env bash
# One long series in many files, reduced by independent jobs: on one machine, or as an array of a batch system.
#
#   examples/batch.sh make OP FOLDER NUMBER FILE...     the job number NUMBER (from 0): FOLDER/NUMBER.frag from its FILE
#   examples/batch.sh finish FOLDER FILE...             puts the parts together, or says which jobs to run again
#
# On one machine, four jobs at a time:
#   mkdir parts && seq 0 99 | xargs -P 4 -I N examples/batch.sh make sum parts N data/part-*.txt
#   examples/batch.sh finish parts data/part-*.txt
# With Slurm, one job for each file, then one that waits for them:
#   job=$(sbatch --parsable --array=0-99 --wrap 'examples/batch.sh make sum parts $SLURM_ARRAY_TASK_ID data/part-*.txt')
#   sbatch --dependency=afterany:$job --wrap 'examples/batch.sh finish parts data/part-*.txt'
#
# The bits are those of `tally reduce OP` over all files as one, in whatever order the jobs end and however often one
# is run again. The order of the files is the order of the series; here they are text, one number for each line.
set -eu
case ${1-} in
make) [ $# -ge 5 ] && [ "$4" -lt $(($# - 4)) ] ;;
finish) [ $# -ge 3 ] ;;
*) false ;;
esac || { sed -n '4,5s/^#   //p' "$0" >&2; exit 2; }
what=$1
shift
elements() { wc -l <"$1"; } # of text; of .npy: python3 -c 'import numpy,sys; print(numpy.load(sys.argv[1]).size)' FILE

case $what in
make)
    op=$1 folder=$2 number=$3 start=0
    shift 3
    for ((i = 0; i < number; i++)); do
        start=$((start + $(elements "$1")))
        shift
    done
    tally fragment make "$op" "$1" --start $start -o "$folder/$number.frag" --quiet
    ;;
finish)
    folder=$1 lost=()
    shift
    for ((i = 0; i < $#; i++)); do # a part that is not there, or damaged
        tally fragment show "$folder/$i.frag" >/dev/null 2>&1 || lost+=("$i")
    done
    if [ ${#lost[@]} -gt 0 ]; then
        echo "run again: ${lost[*]}" >&2
        exit 1
    fi
    tally fragment merge "$folder"/*.frag -o "$folder/all" && tally fragment result "$folder/all" --hex
    ;;
esac
