! SPDX-License-Identifier: MIT
! tally over MPI ranks for Fortran 2018: one sequence over the ranks, with the bits of one process (doc/scale.md).
!
!   use tally_mpi
!   call tally_open(ctx, 'cpu', status)
!   call tally_mpi_reduce(ctx, 'sum', x, total, MPI_COMM_WORLD, status)
!   if (status /= 0) print *, tally_mpi_error()
!
! x: an array of real or integer, of any rank, my part of the sequence in the order of its elements. Parts follow each
! other by rank; or `start` says the number of my first element, from 0. Every call is collective, and every rank gets
! the same status. root: the rank that gets the result (default: all). comm: the integer of `use mpi`, or comm%mpi_val
! of `use mpi_f08`; any communicator. next: the second input of dot, wmean, corr, ...; valid: a logical array, where
! .false. leaves the element out, on all ranks or on some (doc/inputs.md). Both have the shape of x. All arrays may be
! sections, x(1:n:2, :); those that are not contiguous are copied.
!
!   mpicc -c tally_mpi_fortran.c && mpifort tally_mpi.f90 program.f90 tally_mpi_fortran.o -ltally
module tally_mpi
    use iso_c_binding
    implicit none
    private
    public :: tally_open, tally_close, tally_mpi_reduce, tally_mpi_scan, tally_mpi_window, tally_mpi_allreduce
    public :: tally_mpi_fields, tally_mpi_error, tally_edges_missing, tally_edges_shrink, tally_edges_valid

    type, public :: tally_context
        type(c_ptr) :: is = c_null_ptr
    end type
    enum, bind(c)
        enumerator :: tally_edges_missing, tally_edges_shrink, tally_edges_valid
    end enum

    interface
        integer(c_int) function c_open(ctx, device) bind(c, name='tally_open')
            import c_int, c_ptr, c_char
            type(c_ptr), intent(out) :: ctx
            character(kind=c_char), intent(in) :: device(*)
        end function
        subroutine c_close(ctx) bind(c, name='tally_close')
            import c_ptr
            type(c_ptr), value :: ctx
        end subroutine
        integer(c_int) function c_reduce(ctx, op, x, start, result, root, next, valid, comm) &
                bind(c, name='tally_mpi_fortran_reduce')
            import c_int, c_ptr, c_char, c_int64_t
            type(c_ptr), value :: ctx
            character(kind=c_char), intent(in) :: op(*)
            type(*), dimension(..), intent(in) :: x
            integer(c_int64_t), value :: start
            type(*), dimension(..), intent(inout) :: result
            type(*), dimension(..), intent(in), optional :: next, valid
            integer(c_int), value :: root, comm
        end function
        integer(c_int) function c_scan(ctx, op, x, start, results, exclusive, next, valid, comm) &
                bind(c, name='tally_mpi_fortran_scan')
            import c_int, c_ptr, c_char, c_int64_t
            type(c_ptr), value :: ctx
            character(kind=c_char), intent(in) :: op(*)
            type(*), dimension(..), intent(in) :: x
            integer(c_int64_t), value :: start
            type(*), dimension(..), intent(inout) :: results
            type(*), dimension(..), intent(in), optional :: next, valid
            integer(c_int), value :: exclusive, comm
        end function
        integer(c_int) function c_window(ctx, op, x, start, results, before, after, edges, count, next, valid, comm) &
                bind(c, name='tally_mpi_fortran_window')
            import c_int, c_ptr, c_char, c_int64_t
            type(c_ptr), value :: ctx
            character(kind=c_char), intent(in) :: op(*)
            type(*), dimension(..), intent(in) :: x
            integer(c_int64_t), value :: start, before, after
            type(*), dimension(..), intent(inout) :: results
            type(*), dimension(..), intent(in), optional :: next, valid
            integer(c_int), value :: edges, comm
            integer(c_int64_t), intent(out) :: count
        end function
        integer(c_int) function c_allreduce(ctx, op, x, results, next, valid, comm) &
                bind(c, name='tally_mpi_fortran_allreduce')
            import c_int, c_ptr, c_char
            type(c_ptr), value :: ctx
            character(kind=c_char), intent(in) :: op(*)
            type(*), dimension(..), intent(in) :: x
            type(*), dimension(..), intent(inout) :: results
            type(*), dimension(..), intent(in), optional :: next, valid
            integer(c_int), value :: comm
        end function
        integer(c_int) function c_fields(ctx, op, x, results, dim, next, valid, comm) &
                bind(c, name='tally_mpi_fortran_fields')
            import c_int, c_ptr, c_char
            type(c_ptr), value :: ctx
            character(kind=c_char), intent(in) :: op(*)
            type(*), dimension(..), intent(in) :: x
            type(*), dimension(..), intent(inout) :: results
            type(*), dimension(..), intent(in), optional :: next, valid
            integer(c_int), value :: dim, comm
        end function
        type(c_ptr) function c_error() bind(c, name='tally_mpi_fortran_error')
            import c_ptr
        end function
        integer(c_size_t) function c_strlen(text) bind(c, name='strlen')
            import c_ptr, c_size_t
            type(c_ptr), value :: text
        end function
    end interface

contains

    ! device: 'cpu', 'cpu,threads=4', 'cuda:0', ... (`tally devices` lists them)
    subroutine tally_open(ctx, device, status)
        type(tally_context), intent(out) :: ctx
        character(*), intent(in) :: device
        integer, intent(out) :: status
        status = c_open(ctx%is, trim(device)//c_null_char)
    end subroutine

    subroutine tally_close(ctx)
        type(tally_context), intent(inout) :: ctx
        call c_close(ctx%is)
        ctx%is = c_null_ptr
    end subroutine

    subroutine tally_mpi_reduce(ctx, op, x, result, comm, status, start, root, next, valid)
        type(tally_context), intent(in) :: ctx
        character(*), intent(in) :: op
        type(*), dimension(..), intent(in) :: x
        type(*), dimension(..), intent(inout) :: result
        integer, intent(in) :: comm
        integer, intent(out) :: status
        type(*), dimension(..), intent(in), optional :: next, valid
        integer(c_int64_t), intent(in), optional :: start
        integer, intent(in), optional :: root
        integer(c_int) :: to
        to = -1
        if (present(root)) to = root
        status = c_reduce(ctx%is, trim(op)//c_null_char, x, start_of(start), result, to, next, valid, comm)
    end subroutine

    ! results(i) folds all elements up to x(i), those of the ranks before too; exclusive: without x(i)
    subroutine tally_mpi_scan(ctx, op, x, results, comm, status, start, exclusive, next, valid)
        type(tally_context), intent(in) :: ctx
        character(*), intent(in) :: op
        type(*), dimension(..), intent(in) :: x
        type(*), dimension(..), intent(inout) :: results
        integer, intent(in) :: comm
        integer, intent(out) :: status
        type(*), dimension(..), intent(in), optional :: next, valid
        integer(c_int64_t), intent(in), optional :: start
        logical, intent(in), optional :: exclusive
        integer(c_int) :: without
        without = 0
        if (present(exclusive)) without = merge(1, 0, exclusive)
        status = c_scan(ctx%is, trim(op)//c_null_char, x, start_of(start), results, without, next, valid, comm)
    end subroutine

    ! results(i) folds the window from `before` elements before x(i) to `after` elements after it; count: how many
    ! results there are here, as many as x has elements, or less with tally_edges_valid
    subroutine tally_mpi_window(ctx, op, x, results, before, after, comm, status, start, edges, count, next, valid)
        type(tally_context), intent(in) :: ctx
        character(*), intent(in) :: op
        type(*), dimension(..), intent(in) :: x
        type(*), dimension(..), intent(inout) :: results
        integer(c_int64_t), intent(in) :: before, after
        integer, intent(in) :: comm
        integer, intent(out) :: status
        type(*), dimension(..), intent(in), optional :: next, valid
        integer(c_int64_t), intent(in), optional :: start
        integer(c_int), intent(in), optional :: edges
        integer(c_int64_t), intent(out), optional :: count
        integer(c_int64_t) :: made
        integer(c_int) :: ends
        ends = tally_edges_missing
        if (present(edges)) ends = edges
        status = c_window(ctx%is, trim(op)//c_null_char, x, start_of(start), results, before, after, ends, made, &
                          next, valid, comm)
        if (present(count)) count = made
    end subroutine

    ! element by element over the ranks, in their order
    subroutine tally_mpi_allreduce(ctx, op, x, results, comm, status, next, valid)
        type(tally_context), intent(in) :: ctx
        character(*), intent(in) :: op
        type(*), dimension(..), intent(in) :: x
        type(*), dimension(..), intent(inout) :: results
        integer, intent(in) :: comm
        integer, intent(out) :: status
        type(*), dimension(..), intent(in), optional :: next, valid
        status = c_allreduce(ctx%is, trim(op)//c_null_char, x, results, next, valid, comm)
    end subroutine

    ! one result for each sequence along dimension dim (default: the last), which goes on from rank to rank: a time mean
    ! of x(longitude, latitude, time) is results(longitude, latitude), on all ranks. Ranks differ in that extent alone
    subroutine tally_mpi_fields(ctx, op, x, results, comm, status, dim, next, valid)
        type(tally_context), intent(in) :: ctx
        character(*), intent(in) :: op
        type(*), dimension(..), intent(in) :: x
        type(*), dimension(..), intent(inout) :: results
        integer, intent(in) :: comm
        integer, intent(out) :: status
        type(*), dimension(..), intent(in), optional :: next, valid
        integer, intent(in), optional :: dim
        integer(c_int) :: along
        along = rank(x)
        if (present(dim)) along = dim
        status = c_fields(ctx%is, trim(op)//c_null_char, x, results, along, next, valid, comm)
    end subroutine

    ! the sentence of the last call that failed, the same on every rank
    function tally_mpi_error() result(text)
        character(:), allocatable :: text
        character(kind=c_char), pointer :: c(:)
        type(c_ptr) :: said
        integer :: i
        said = c_error()
        call c_f_pointer(said, c, [c_strlen(said)])
        allocate(character(size(c)) :: text)
        do i = 1, size(c)
            text(i:i) = c(i)
        end do
    end function

    integer(c_int64_t) function start_of(start)
        integer(c_int64_t), intent(in), optional :: start
        start_of = -1
        if (present(start)) start_of = start
    end function
end module
