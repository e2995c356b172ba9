! SPDX-License-Identifier: MIT
! The Fortran module with sections, second inputs, validity and communicators that were split: what all ranks of a
! communicator get is, bit for bit, what one rank gets of the whole arrays. Prints a line if all is well.
program sections
    use mpi
    use tally_mpi
    use iso_fortran_env
    implicit none
    integer, parameter :: rows = 7, columns = 26
    type(tally_context) :: ctx
    real(real32) :: x(2*rows, columns), each(2*rows), one(2*rows)
    real(real64) :: y(rows, columns), value(1), want(1), scanned(2, rows, columns), wanted(rows, columns)
    real(real64) :: of_rows(rows), of_rows_wanted(rows), windows(2*rows, columns)
    logical :: there(rows, columns), some(rows), z_there(2, columns, 3)
    real(real64) :: z(2, columns, 3), of_z(2, 3), of_z_wanted(2, 3)
    logical(int8) :: small(rows, columns)
    integer(int32) :: largest(rows, 3), largest_wanted(rows)
    integer(int64) :: made
    integer :: rank, ranks, all_rank, part, comm, first, last, i, j, status, error, bad = 0, all_bad

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, all_rank, error)
    call tally_open(ctx, 'cpu,threads=1', status)
    do j = 1, columns
        do i = 1, 2*rows
            x(i, j) = 1.0_real32/(i + rows*j)
        end do
        do i = 1, rows
            y(i, j) = 3.0_real64/(j + 5*i)
            there(i, j) = mod(i*j, 4) /= 1
        end do
    end do
    small = there
    z = reshape([y, y], shape(z))
    z_there = reshape([there, there], shape(z_there))
    do part = 1, 2 ! all ranks; even and odd ones
        comm = MPI_COMM_WORLD
        if (part == 2) call MPI_Comm_split(MPI_COMM_WORLD, mod(all_rank, 2), -all_rank, comm, error)
        call MPI_Comm_rank(comm, rank, error)
        call MPI_Comm_size(comm, ranks, error)
        first = columns*rank/ranks + 1
        last = columns*(rank + 1)/ranks

        ! every second row, weighted, some of it left out
        call tally_mpi_reduce(ctx, 'wmean', x(1::2, first:last), value, comm, status, next=y(:, first:last), &
                              valid=there(:, first:last))
        call good(status)
        call tally_mpi_reduce(ctx, 'wmean', 1*x(1::2, :), want, MPI_COMM_SELF, status, next=y, valid=small)
        call good(status)
        call same(transfer(value, [0_int8]), transfer(want, [0_int8]), 'wmean')

        ! backwards, results into a section
        scanned = -1
        call tally_mpi_scan(ctx, 'mean', y(rows:1:-1, first:last), scanned(2, :, first:last), comm, status, &
                            valid=there(:, first:last))
        call good(status)
        call tally_mpi_scan(ctx, 'mean', 1*y(rows:1:-1, :), wanted, MPI_COMM_SELF, status, valid=there)
        call good(status)
        call same(transfer(scanned(2, :, first:last), [0_int8]), transfer(wanted(:, first:last), [0_int8]), 'scan')
        call same(transfer(scanned(1, :, :), [0_int8]), transfer(spread(spread(-1.0_real64, 1, rows), 2, columns), &
                                                                 [0_int8]), 'beside the results')
        windows = -1
        call tally_mpi_window(ctx, 'dot', x(2::2, first:last), windows(::2, first:last), 9_int64, 2_int64, comm, status, &
                              edges=tally_edges_shrink, next=y(:, first:last))
        call good(status)
        call tally_mpi_window(ctx, 'dot', 1*x(2::2, :), wanted, 9_int64, 2_int64, MPI_COMM_SELF, status, &
                              edges=tally_edges_shrink, next=y)
        call good(status)
        call same(transfer(windows(::2, first:last), [0_int8]), transfer(wanted(:, first:last), [0_int8]), 'window')

        ! a result for each row, and along the ranks
        call tally_mpi_fields(ctx, 'corr', x(::2, first:last), of_rows, comm, status, next=y(:, first:last), &
                              valid=there(:, first:last))
        call good(status)
        call tally_mpi_fields(ctx, 'corr', 1*x(::2, :), of_rows_wanted, MPI_COMM_SELF, status, next=y, valid=there)
        call good(status)
        call same(transfer(of_rows, [0_int8]), transfer(of_rows_wanted, [0_int8]), 'fields')
        call tally_mpi_fields(ctx, 'mean', z(:, first:last, :), of_z, comm, status, dim=2, valid=z_there(:, first:last, :))
        call good(status)
        call tally_mpi_fields(ctx, 'mean', z, of_z_wanted, MPI_COMM_SELF, status, dim=2, valid=z_there)
        call good(status)
        call same(transfer(of_z, [0_int8]), transfer(of_z_wanted, [0_int8]), 'fields of three dimensions')
        call alone(z(2, :, 3), z_there(2, :, 3), of_z_wanted(2, 3))
        some = there(:, rank + 1)
        largest = 0
        call tally_mpi_allreduce(ctx, 'max', [(100*rank + i, i=1, rows)], largest(:, 2), comm, status, valid=some)
        call good(status)
        do i = 1, rows
            largest_wanted(i) = -huge(largest_wanted) - 1
            do j = 1, ranks
                if (there(i, j)) largest_wanted(i) = 100*(j - 1) + i
            end do
        end do
        call same(transfer(largest(:, 2), [0_int8]), transfer(largest_wanted, [0_int8]), 'allreduce')
        each = x(:, rank + 1)
        call tally_mpi_allreduce(ctx, 'dot', each, one, comm, status, next=each)
        call good(status)
        do i = 1, 2*rows
            call tally_mpi_reduce(ctx, 'dot', x(i, 1:ranks), each(i:i), MPI_COMM_SELF, status, next=x(i, 1:ranks))
            call good(status)
        end do
        call same(transfer(one, [0_int8]), transfer(each, [0_int8]), 'allreduce of pairs')

        ! one rank has another shape: all are told
        call tally_mpi_reduce(ctx, 'wmean', x(1::2, first:last), value, comm, status, next=y(:, 1:last - first + 1 + &
                              merge(1, 0, rank == 0)))
        if (status == 0 .or. index(tally_mpi_error(), 'next: must have the shape of x') == 0) &
            call same([1_int8], [0_int8], tally_mpi_error())
        made = -1
        call tally_mpi_window(ctx, 'sum', y(:, first:last), windows, 1_int64, 0_int64, comm, status, count=made, &
                              valid=y(:, first:last))
        if (status == 0 .or. made /= 0) call same([1_int8], [0_int8], 'results of a window that was refused')
        call tally_mpi_reduce(ctx, 'sum', y(:, first:last), value, comm, status, valid=y(:, first:last))
        if (status == 0 .or. index(tally_mpi_error(), 'valid: must be logical') == 0) &
            call same([1_int8], [0_int8], 'validity of numbers')
        if (part == 2) call MPI_Comm_free(comm, error)
    end do
    call MPI_Reduce(bad, all_bad, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
    if (all_rank == 0 .and. all_bad == 0) print '(a)', 'sections are well'
    call tally_close(ctx)
    call MPI_Finalize(error)

contains

    subroutine good(status)
        integer, intent(in) :: status
        if (status /= 0) bad = bad + 1
        if (status /= 0) print *, 'FAILED: ', tally_mpi_error()
    end subroutine

    ! the last of them again, by itself
    subroutine alone(x, there, wanted)
        real(real64), intent(in) :: x(:), wanted
        logical, intent(in) :: there(:)
        call tally_mpi_reduce(ctx, 'mean', x, value, MPI_COMM_SELF, status, valid=there)
        call good(status)
        call same(transfer(value, [0_int8]), transfer(wanted, [0_int8]), 'one sequence')
    end subroutine

    subroutine same(a, b, what)
        integer(int8), intent(in) :: a(:), b(:)
        character(*), intent(in) :: what
        if (size(a) == size(b)) then
            if (all(a == b)) return
        end if
        bad = bad + 1
        print *, 'DIFFERENT: ', what, ' on rank ', rank, ' of ', ranks
    end subroutine
end program
