#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# include/tally_mpi.h with every MPI library that is here (Debian: openmpi-bin libopenmpi-dev, mpich libmpich-dev), on 1, 2, 3, 5
# and 8 ranks, more than there are processors. The headers compile as C11 and as C++ without a warning. MPICH's ranks spin while others
# wait for a processor, so there all but one run have the calls of test/mpi/patient.h, which sleep. Exit 77: there is no MPI.
set -uo pipefail
: "${TALLY_SOURCE:?}" "${TALLY_BUILD:?}"
[ -z "${TALLY_SANITIZE-}" ] || { echo "mpi: not with sanitizers"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers forbid it, and it says so
bad=0 libraries=0
for mpi in openmpi mpich; do
    command -v mpicc.$mpi mpirun.$mpi >/dev/null || continue
    [ "$(command -v mpicc.$mpi mpirun.$mpi | wc -l)" = 2 ] || continue
    libraries=$((libraries + 1)) mpi_here=$mpi
    patient=()
    [ $mpi = mpich ] && patient=(-include "$TALLY_SOURCE/test/mpi/patient.h")
    compile() { # compile PROGRAM WORDS...
        OMPI_CC=${CC:-cc} MPICH_CC=${CC:-cc} mpicc.$mpi -std=gnu11 -O1 -Wall -Wextra -Werror -I"$TALLY_SOURCE/include" \
            "${@:2}" "$TALLY_SOURCE/test/mpi/ranks.c" "$TALLY_BUILD/libtally.a" -pthread -ldl -lm -o "$1-$mpi"
    }
    compile ranks "${patient[@]}" || { bad=1; continue; }
    # allreduce by tally_mpi_nccl.h, over an NCCL and a CUDA that are none and fail on one rank
    compile nccl "${patient[@]}" -DTEST_NCCL -I"$TALLY_SOURCE/test/mpi/fake" || { bad=1; continue; }
    if command -v "mpicxx.$mpi" g++ >/dev/null; then
        printf '#include <mpi.h>\n#include <tally_mpi_nccl.h>\nint main() { return 0; }\n' >header.cc
        "mpicxx.$mpi" -Wall -Wextra -Wno-cast-function-type -I"$TALLY_SOURCE/include" -I"$TALLY_SOURCE/test/mpi/fake" \
            -Wno-unused-variable -fsyntax-only header.cc || bad=1
    fi
    run() { # run RANKS PROGRAM WORDS...
        out=$(timeout 300 mpirun.$mpi -n "$1" "./$2-$mpi" "${@:3}" 2>&1)
        code=$?
        echo "$mpi, $2: $(echo "$out" | grep -E 'passed|FAILED' | head -5)"
        [ $code -eq 0 ] || { bad=1; echo "exit $code: $(echo "$out" | head -20)"; }
    }
    turn=${TALLY_TEST_SEED:-$RANDOM}
    echo "seed $turn"
    for ranks in 1 2 3 5 8; do # every second one, from where the seed says; all with TALLY_TEST_LONG
        turn=$((turn + 1))
        [ -n "${TALLY_TEST_LONG-}" ] || [ $((turn % 2)) = 0 ] || continue
        run $ranks ranks "${CASES:-$((ranks < 5 ? 10 : 5))}" $ranks
    done
    run 3 nccl 3 2
    # a rank that is killed: mpirun ends the others, and says so
    out=$(timeout 30 mpirun.$mpi -n 3 ./ranks-$mpi lost 7 2>&1)
    code=$?
    [ $code -ne 0 ] && [ $code -ne 124 ] && ! grep -q 'FAILED' <<<"$out" || { bad=1; echo "$mpi, lost: exit $code: $out"; }
    if [ $mpi = mpich ] && compile spin; then run 2 spin 3 1; fi
done
# parts and results in device memory, with a device for each rank, or one that they share
mpi=${mpi_here-}
if [ -n "$mpi" ] && "${TALLY_CLI:-$TALLY_BUILD/tally}" devices | grep -q '^opencl:'; then run 2 ranks 4 2 opencl sum f32; fi
# the Fortran module and its example: one output on any number of ranks
for mpi in openmpi mpich; do
    [ "$(command -v mpicc.$mpi mpifort.$mpi mpirun.$mpi | wc -l)" = 3 ] || continue
    mkdir -p fortran-$mpi
    patient=()
    [ $mpi = mpich ] && patient=(-include "$TALLY_SOURCE/test/mpi/patient.h")
    if ! (cd fortran-$mpi && mpicc.$mpi -std=gnu11 -Wall -Wextra -Werror "${patient[@]}" -I"$TALLY_SOURCE/include" -c \
        "$TALLY_SOURCE/fortran/tally_mpi_fortran.c" && mpifort.$mpi -std=f2018 -c "$TALLY_SOURCE/fortran/tally_mpi.f90" &&
        mpifort.$mpi -std=f2018 tally_mpi.o "$TALLY_SOURCE/examples/mpi/mean.f90" tally_mpi_fortran.o \
            "$TALLY_BUILD/libtally.a" -pthread -ldl -lm -o mean &&
        mpifort.$mpi -std=f2018 tally_mpi.o "$TALLY_SOURCE/test/mpi/sections.f90" tally_mpi_fortran.o \
            "$TALLY_BUILD/libtally.a" -pthread -ldl -lm -o sections); then
        bad=1
        continue
    fi
    for ranks in 1 4; do
        out=$(timeout 60 mpirun.$mpi -n $ranks fortran-$mpi/mean 2>&1)
        [ "$out" = "$(sed '1,/^==== mpi-mean$/d' "$TALLY_SOURCE/examples/expected.txt")" ] && continue
        echo "$mpi, $ranks ranks of examples/mpi/mean.f90: $out"
        bad=1
    done
    for ranks in 1 2 3 5; do
        out=$(timeout 60 mpirun.$mpi -n $ranks fortran-$mpi/sections 2>&1)
        [ "$out" = "sections are well" ] && continue
        echo "$mpi, $ranks ranks of test/mpi/sections.f90: $out"
        bad=1
    done
done
[ $libraries -gt 0 ] || { echo "no MPI library here"; exit 77; }
exit $bad
