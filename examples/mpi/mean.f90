! A field of which each rank has some columns: its mean, the running sum along the ranks, the mean of each row, and an
! element-by-element maximum.
! The bits do not change with the number of ranks.
!   mpirun -n 4 mean
program mean
    use mpi
    use tally_mpi
    use iso_fortran_env
    implicit none
    integer, parameter :: rows = 12, columns = 10
    type(tally_context) :: ctx
    real(real64), allocatable :: x(:, :), sums(:, :), turned(:, :)
    real(real64) :: total(rows, columns), average(1), means(rows), others(3, rows/3)
    integer :: rank, ranks, first, last, i, j, status, error

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call tally_open(ctx, 'cpu,threads=1', status)

    first = columns*rank/ranks + 1
    last = columns*(rank + 1)/ranks
    allocate (x(rows, first:last), sums(rows, first:last))
    do j = first, last
        do i = 1, rows
            x(i, j) = 1.0_real64/(i + rows*(j - 1))
        end do
    end do
    call tally_mpi_reduce(ctx, 'mean', x, average, MPI_COMM_WORLD, status)
    if (status /= 0) print *, tally_mpi_error()
    call tally_mpi_scan(ctx, 'sum', x, sums, MPI_COMM_WORLD, status)
    if (status /= 0) print *, tally_mpi_error()
    if (rank == ranks - 1) print '(a, z16, a, z16)', 'mean ', average, '  last running sum ', sums(rows, last)

    call tally_mpi_fields(ctx, 'mean', x, means, MPI_COMM_WORLD, status)
    if (status /= 0) print *, tally_mpi_error()
    if (rank == ranks - 1) print '(a, z16, a, z16)', 'of row 1 ', means(1), '  of row 12 ', means(12)
    ! the same where a row is not along the last dimension
    turned = transpose(x)
    call tally_mpi_fields(ctx, 'mean', turned, others, MPI_COMM_WORLD, status, dim=1)
    if (status /= 0) print *, tally_mpi_error()
    if (any(reshape(others, [rows]) /= means)) print *, 'dim=1 gives other means'
    others = 0
    call tally_mpi_fields(ctx, 'mean', reshape(x, [3, last - first + 1, rows/3], order=[1, 3, 2]), others, &
                          MPI_COMM_WORLD, status, dim=2)
    if (status /= 0) print *, tally_mpi_error()
    if (any(reshape(others, [rows]) /= means)) print *, 'dim=2 gives other means'

    total = rank + 1
    call tally_mpi_allreduce(ctx, 'max', total, total, MPI_COMM_WORLD, status)
    if (status /= 0) print *, tally_mpi_error()
    if (any(total /= ranks)) print *, 'the largest is not', ranks
    call tally_mpi_fields(ctx, 'mean', x, means, MPI_COMM_WORLD, status, dim=merge(3, 2, rank == 0))
    if (rank == ranks - 1) print '(a)', tally_mpi_error()
    call tally_mpi_fields(ctx, 'mean', x, means(:11), MPI_COMM_WORLD, status)
    if (rank == ranks - 1) print '(a)', tally_mpi_error()
    call tally_close(ctx)
    call MPI_Finalize(error)
end program
