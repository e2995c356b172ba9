/* SPDX-License-Identifier: MIT
 * tally_mpi_ranks.h - the common part of the calls of tally_mpi.h. Include tally_mpi.h instead. It
 * has: how ranks agree on one status and one sentence, the table of all parts, and the merge of
 * fragments as an MPI operation. Names that end in _ are private. */
#ifndef TALLY_MPI_RANKS_H
#define TALLY_MPI_RANKS_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ranks ----------------------------------------------------------------------------------- */

enum { TALLY_MPI_SENTENCE = 640, TALLY_MPI_NAME = 64 };

static inline char *tally_mpi_sentence_(void)
{
    static char sentence[TALLY_MPI_SENTENCE];
    return sentence;
}

static inline void tally_mpi_copy_(char *to, size_t capacity, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    if (n >= capacity) n = capacity - 1;
    if (n) memcpy(to, text, n);
    to[n] = 0;
}

/* The sentence of the last call in this source file that failed; the same on every rank. */
static inline const char *tally_mpi_error(void) { return tally_mpi_sentence_(); }

static inline tally_status tally_mpi_fail_(tally_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(tally_mpi_sentence_(), TALLY_MPI_SENTENCE, format, list);
    va_end(list);
    return status;
}

/* One part of the sequence. Every rank has the parts of all ranks. */
typedef struct tally_mpi_part_ {
    long long start, n;
    unsigned long long what; /* a hash of operator, dtype and the verb's options */
    int status, rank;
} tally_mpi_part_;

typedef struct tally_mpi_ {
    MPI_Comm comm;
    int rank, ranks, here; /* here: the index of this rank's part in `part` */
    tally_mpi_part_ *part; /* in the order of the sequence */
    long long n;           /* elements of the whole sequence */
} tally_mpi_;

static inline unsigned long long tally_mpi_hash_(unsigned long long h, const void *bytes, size_t n)
{
    const unsigned char *p = (const unsigned char *)bytes;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

/* A description of the call, which must be the same on all ranks. */
enum { TALLY_MPI_WORDS_ = 120 };
static inline char *tally_mpi_words_(void)
{
    static char words[TALLY_MPI_WORDS_];
    return words;
}

/* Adds the operator to the hash, by the bytes of an empty fragment of v's sequences. These differ
 * if a rank has another text of a user's operator or another version of the library. */
static inline unsigned long long tally_mpi_hash_op_(unsigned long long h, tally *ctx,
                                                    const char *op, const tally_view *v)
{
    tally_fragment *f = NULL;
    tally_view none = *v, next;
    char bytes[512];
    size_t capacity = sizeof bytes;
    none.n = 0, none.rows = 1, none.data = NULL, none.offsets = NULL, none.valid = NULL;
    if (v->next)
        next = *v->next, next.n = 0, next.rows = 1, next.data = NULL, next.valid = NULL,
        none.next = &next;
    if (!tally_fragment_of_view(ctx, op, &none, 0, &f) && !tally_fragment_save(f, bytes, &capacity))
        h = tally_mpi_hash_(h, bytes, capacity);
    tally_fragment_free(f);
    return h;
}

static inline unsigned long long tally_mpi_what_(tally *ctx, const char *verb, const char *op,
                                                 const tally_view *v)
{
    const int dtype = v ? (int)v->dtype + (v->next ? 256 * (int)v->next->dtype : 0) : 0;
    unsigned long long h = tally_mpi_hash_(0xcbf29ce484222325ull, verb, strlen(verb));
    snprintf(tally_mpi_words_(), TALLY_MPI_WORDS_, "%s of %.60s%s%s", verb, op ? op : "NULL",
             v ? " of " : "", v && tally_dtype_name(v->dtype) ? tally_dtype_name(v->dtype) : "");
    if (op) h = tally_mpi_hash_(h, op, strlen(op));
    if (v) h = tally_mpi_hash_op_(h, ctx, op, v);
    return tally_mpi_hash_(h, &dtype, sizeof dtype);
}

/* The error of a rank `other` that makes another call than rank 0. All ranks call this, and get
 * the descriptions of both calls. */
static inline tally_status tally_mpi_differs_(MPI_Comm comm, int other)
{
    char words[2][TALLY_MPI_WORDS_];
    memcpy(words[0], tally_mpi_words_(), sizeof words[0]);
    memcpy(words[1], tally_mpi_words_(), sizeof words[1]);
    if (MPI_Bcast(words[0], TALLY_MPI_WORDS_, MPI_CHAR, 0, comm) ||
        MPI_Bcast(words[1], TALLY_MPI_WORDS_, MPI_CHAR, other, comm))
        return tally_mpi_fail_(TALLY_IO, "MPI_Bcast failed");
    if (strcmp(words[0], words[1]))
        return tally_mpi_fail_(TALLY_INVALID,
                               "rank %d calls %s and rank 0 %s: must be the same on all", other,
                               words[1], words[0]);
    return tally_mpi_fail_(
        TALLY_INVALID,
        "rank %d calls %s as rank 0 does, with other options, another text of the operator or "
        "another version of tally (in allreduce: or another length; in fields: or another number "
        "of fields or sequences): must be the same on all",
        other, words[0]);
}

static inline int tally_mpi_by_start_(const void *a, const void *b)
{
    const tally_mpi_part_ *x = (const tally_mpi_part_ *)a, *y = (const tally_mpi_part_ *)b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (!x->n != !y->n) return x->n ? 1 : -1; /* empty parts first */
    return x->rank < y->rank ? -1 : 1;
}

/* The status of a rank that knows only that another rank failed. */
#define TALLY_MPI_ELSEWHERE_ ((tally_status)127)

/* Returns one status for all ranks: that of the lowest rank that failed, with its sentence. */
static inline tally_status tally_mpi_agree_(MPI_Comm comm, tally_status mine)
{
    struct {
        int failed, rank;
    } in = {!mine ? 2 : mine == TALLY_MPI_ELSEWHERE_ ? 1 : 0, 0}, out;
    struct {
        int status;
        char text[TALLY_MPI_SENTENCE - 40];
    } failure;
    MPI_Comm_rank(comm, &in.rank);
    if (MPI_Allreduce(&in, &out, 1, MPI_2INT, MPI_MINLOC, comm))
        return tally_mpi_fail_(TALLY_IO, "MPI_Allreduce failed");
    if (out.failed == 2) return TALLY_OK;
    memset(&failure, 0, sizeof failure);
    failure.status = mine == TALLY_MPI_ELSEWHERE_ ? TALLY_BAD_DATA : mine;
    if (out.rank == in.rank) tally_mpi_copy_(failure.text, sizeof failure.text, tally_mpi_error());
    if (MPI_Bcast(&failure, (int)sizeof failure, MPI_BYTE, out.rank, comm))
        return tally_mpi_fail_(TALLY_IO, "MPI_Bcast failed");
    return tally_mpi_fail_((tally_status)failure.status, "rank %d: %s", out.rank, failure.text);
}

/* Checks that a view is dense, and sets *n to its length as one sequence. */
static inline tally_status tally_mpi_dense_(const tally_view *v, const char *name, long long *n)
{
    *n = 0;
    if (!v) return tally_mpi_fail_(TALLY_INVALID, "%s is NULL: must be a view", name);
    if (v->offsets || v->n < 0 || v->rows < 0 || (v->n > 1 && v->stride != 1) ||
        (v->rows > 1 && v->row_stride != v->n))
        return tally_mpi_fail_(TALLY_INVALID,
                               "%s is not dense: must be tally_flat, or tally_rows without a pitch",
                               name);
    if (__builtin_mul_overflow((long long)v->n, (long long)v->rows, n) || *n >> 61)
        return tally_mpi_fail_(TALLY_INVALID, "%s has more than 2^61 - 1 elements", name);
    if (*n && !v->data)
        return tally_mpi_fail_(TALLY_INVALID,
                               "%s->data is NULL: must have memory for %lld elements", name, *n);
    if (v->next) {
        long long beside = 0;
        const tally_status status = tally_mpi_dense_(v->next, "the second input", &beside);
        if (status) return status;
        if (beside != *n)
            return tally_mpi_fail_(
                TALLY_INVALID, "the second input has %lld elements and %s %lld: must be as many",
                beside, name, *n);
    }
    return TALLY_OK;
}

/* Checks the context and this rank's view. */
static inline tally_status tally_mpi_input_(const tally *ctx, const tally_view *mine, long long *n)
{
    *n = 0;
    return ctx ? tally_mpi_dense_(mine, "mine", n)
               : tally_mpi_fail_(TALLY_INVALID, "ctx is NULL: must be a context");
}

/* A dense view of n elements as one sequence. *next holds its second input. Views of one input
 * without validity use the simpler calls. */
static inline int tally_mpi_has_inputs_(const tally_view *v) { return v && (v->valid || v->next); }
static inline tally_view tally_mpi_flat_(const tally_view *v, long long n, tally_view *next)
{
    tally_view flat = tally_flat(v->data, v->dtype, n);
    flat.valid = v->valid;
    flat.valid_offset = v->valid_offset;
    if (v->next) {
        *next = tally_flat(v->next->data, v->next->dtype, n);
        next->valid = v->next->valid;
        next->valid_offset = v->next->valid_offset;
        flat.next = next;
    }
    return flat;
}

/* Makes `bytes` bytes readable by the host: in place, or as a copy of device memory. The caller
 * frees *memory. */
static inline tally_status tally_mpi_read_(tally *ctx, const void *data, size_t bytes,
                                           const char **at, char **memory)
{
    int owner = -1;
    *memory = NULL;
    *at = (const char *)data;
    tally_status status = bytes ? tally_owner(ctx, data, &owner) : TALLY_OK;
    if (!status && owner >= 0) {
        if (!(*memory = (char *)malloc(bytes)))
            return tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %llu bytes",
                                   (unsigned long long)bytes);
        status = tally_copy(ctx, *memory, data, bytes);
        *at = *memory;
    }
    return status ? tally_mpi_fail_(status, "%s", tally_error(ctx)) : TALLY_OK;
}

/* Sets *there to n bytes, one per element of a dense view: 1 if the element is valid in all
 * inputs. The caller frees *there. */
static inline tally_status tally_mpi_there_(tally *ctx, const tally_view *mine, long long n,
                                            char **there)
{
    tally_status status = TALLY_OK;
    if (!(*there = (char *)malloc((size_t)n + 1)))
        return tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld elements", n);
    memset(*there, 1, (size_t)n);
    for (const tally_view *v = mine; v && !status; v = v->next) {
        const long long first = (long long)v->valid_offset >> 3,
                        from = (long long)v->valid_offset & 7;
        const char *bits;
        char *memory = NULL;
        if (!v->valid || !n) continue;
        if (v->valid_offset < 0)
            return tally_mpi_fail_(TALLY_INVALID, "valid_offset is %lld: must be at least 0",
                                   (long long)v->valid_offset);
        status = tally_mpi_read_(ctx, (const char *)v->valid + first,
                                 (size_t)((from + n - 1) / 8 + 1), &bits, &memory);
        for (long long i = 0; i < n && !status; i++)
            if (!((unsigned char)bits[(from + i) >> 3] >> ((from + i) & 7) & 1)) (*there)[i] = 0;
        free(memory);
    }
    return status;
}

/* A bitmap of n such bytes, and memory for one bit more. NULL: no memory. The caller frees it. */
static inline unsigned char *tally_mpi_bits_(const char *there, long long n)
{
    unsigned char *const bits = (unsigned char *)calloc((size_t)n / 8 + 1, 1);
    for (long long i = 0; bits && i < n; i++)
        if (there[i]) bits[i >> 3] = (unsigned char)(bits[i >> 3] | 1u << (i & 7));
    return bits;
}

/* The dtype that the operator gets: for two inputs their common type, which the fragment has. */
static inline tally_dtype tally_mpi_dtype_(const tally_fragment *f, const tally_view *mine)
{
    tally_fragment_info about;
    tally_fragment_about(f, &about);
    return f ? about.dtype : mine->dtype;
}

static inline void tally_mpi_end_(tally_mpi_ *m) { free(m->part); }

/* Starts a call on all ranks: exchanges the parts, agrees on the status, and checks that the
 * parts form one sequence. mine: the status of this rank. */
static inline tally_status tally_mpi_begin_(tally_mpi_ *m, MPI_Comm comm, long long start,
                                            long long n, unsigned long long what, tally_status mine)
{
    memset(m, 0, sizeof *m);
    m->comm = comm;
    if (MPI_Comm_rank(comm, &m->rank) || MPI_Comm_size(comm, &m->ranks))
        return tally_mpi_fail_(TALLY_IO, "comm: the MPI library refuses it");
    m->part = (tally_mpi_part_ *)malloc((size_t)m->ranks * sizeof *m->part);
    if (!mine && !m->part)
        mine = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %d parts", m->ranks);
    const tally_status all = tally_mpi_agree_(comm, mine);
    if (all) return all;
    const tally_mpi_part_ part = {start, n, what, mine, m->rank};
    if (MPI_Allgather(&part, (int)sizeof part, MPI_BYTE, m->part, (int)sizeof part, MPI_BYTE, comm))
        return tally_mpi_fail_(TALLY_IO, "MPI_Allgather failed");
    const long long first = m->part[0].start;
    long long at = 0;
    /* all ranks have the same table, so all come to the same result */
    for (int r = 0; r < m->ranks; r++) {
        tally_mpi_part_ *p = &m->part[r];
        if (p->what != m->part[0].what) return tally_mpi_differs_(comm, r);
        if ((p->start < 0) != (first < 0))
            return tally_mpi_fail_(
                TALLY_INVALID,
                "start is %lld on rank %d and %lld on rank 0: -1 must be on all or none", p->start,
                r, first);
        if (p->start < 0) {
            p->start = at;
            at += p->n;
        }
    }
    qsort(m->part, (size_t)m->ranks, sizeof *m->part, tally_mpi_by_start_);
    for (int r = 0; r < m->ranks; r++) {
        const tally_mpi_part_ *p = &m->part[r], *before = r ? p - 1 : NULL;
        if (p->rank == m->rank) m->here = r;
        if (!p->n) continue;
        if (p->start > m->n)
            return tally_mpi_fail_(
                TALLY_INVALID, "nobody has [%lld, %lld): the parts must be one sequence from 0 on",
                m->n, p->start);
        if (p->start < m->n)
            return tally_mpi_fail_(
                TALLY_INVALID,
                "rank %d has [%lld, %lld) and rank %d begins at %lld: must not overlap",
                before->rank, before->start, before->start + before->n, p->rank, p->start);
        m->n = p->start + p->n;
        if (m->n >> 61)
            return tally_mpi_fail_(TALLY_INVALID,
                                   "the whole sequence has more than 2^61 - 1 elements");
    }
    return TALLY_OK;
}

/* ---- fragments as an MPI operation: associative, not commutative ----------------------------- */

/* A message with the bytes of `count` fragments, of the same size on all ranks. Each fragment has
 * a fixed space: its length, then its bytes. Length -1: a merge failed. */
typedef struct tally_mpi_merge_ {
    tally *ctx;
    int count;
    const size_t *capacity; /* bytes of each space, multiples of TALLY_MPI_UNIT_ */
    char sentence[TALLY_MPI_SENTENCE];
} tally_mpi_merge_;
enum { TALLY_MPI_UNIT_ = 16 };
static inline tally_mpi_merge_ *tally_mpi_merging_(void)
{
    static tally_mpi_merge_ merging;
    return &merging;
}

/* b = a merged with b. Both are the space of a fragment in a message, of `capacity` bytes. */
static inline void tally_mpi_merge_one_(tally_mpi_merge_ *x, size_t capacity, const char *a,
                                        char *b)
{
    long long a_bytes, b_bytes;
    tally_fragment *left = NULL, *right = NULL;
    memcpy(&a_bytes, a, sizeof a_bytes);
    memcpy(&b_bytes, b, sizeof b_bytes);
    tally_status status = a_bytes < 0 || b_bytes < 0 ? TALLY_BAD_DATA : TALLY_OK;
    if (!status) status = tally_fragment_load(x->ctx, a + sizeof a_bytes, (size_t)a_bytes, &left);
    if (!status) status = tally_fragment_load(x->ctx, b + sizeof b_bytes, (size_t)b_bytes, &right);
    if (!status) status = tally_fragment_merge(left, right);
    size_t bytes = capacity - sizeof b_bytes;
    if (!status) status = tally_fragment_save(left, b + sizeof b_bytes, &bytes);
    b_bytes = status ? -1 : (long long)bytes;
    memcpy(b, &b_bytes, sizeof b_bytes);
    if (status && !x->sentence[0])
        tally_mpi_copy_(x->sentence, sizeof x->sentence, tally_error(x->ctx));
    tally_fragment_free(left);
    tally_fragment_free(right);
}

/* The MPI operation: inout = in merged with inout. */
static inline void tally_mpi_merge_function_(void *in, void *inout, int *count, MPI_Datatype *type)
{
    tally_mpi_merge_ *const x = tally_mpi_merging_();
    char *a = (char *)in, *b = (char *)inout;
    (void)type;
    for (int i = 0; i < *count; i++)
        for (int f = 0; f < x->count; a += x->capacity[f], b += x->capacity[f], f++)
            tally_mpi_merge_one_(x, x->capacity[f], a, b);
}

typedef enum { TALLY_MPI_TO_ROOT_, TALLY_MPI_TO_ALL_, TALLY_MPI_BEFORE_ME_ } tally_mpi_way_;

/* Saves fragments into a message. */
static inline tally_status tally_mpi_pack_(tally *ctx, int count, const size_t *capacity,
                                           tally_fragment *const *mine, char *to)
{
    for (int f = 0; f < count; to += capacity[f], f++) {
        size_t bytes = capacity[f] - sizeof(long long);
        const tally_status status = tally_fragment_save(mine[f], to + sizeof(long long), &bytes);
        if (status) return tally_mpi_fail_(status, "%s", tally_error(ctx));
        const long long length = (long long)bytes;
        memcpy(to, &length, sizeof length);
    }
    return TALLY_OK;
}

/* Loads fragments from a message. */
static inline tally_status tally_mpi_unpack_(tally *ctx, int count, const size_t *capacity,
                                             const char *from, tally_fragment **all)
{
    for (int f = 0; f < count; from += capacity[f], f++) {
        long long bytes;
        memcpy(&bytes, from, sizeof bytes);
        if (bytes < 0)
            return tally_mpi_fail_(TALLY_MPI_ELSEWHERE_, "a merge failed on another rank");
        const tally_status status =
            tally_fragment_load(ctx, from + sizeof bytes, (size_t)bytes, &all[f]);
        if (status) return tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
    return TALLY_OK;
}

/* Merges the fragments of all parts. The result goes to rank `root`, to all ranks, or, with
 * TALLY_MPI_BEFORE_ME_, each rank gets the merged parts before its own (the first part gets
 * NULL). `count` fragments, each in a space of room[f] bytes that is the same on all ranks, are
 * merged by one MPI call. The caller frees all[0 .. count - 1], also after a failure. */
static inline tally_status tally_mpi_merge_all_(tally *ctx, const tally_mpi_ *m, int count,
                                                const size_t *capacity, tally_fragment *const *mine,
                                                tally_mpi_way_ way, int root, tally_fragment **all)
{
    tally_mpi_merge_ *const x = tally_mpi_merging_();
    size_t total = 0;
    for (int f = 0; f < count; f++) total += capacity[f], all[f] = NULL;
    const int fits = total / TALLY_MPI_UNIT_ <= 0x7fffffff;
    char *const send = fits ? (char *)calloc(2, total + 1) : NULL, *const got =
                                                                       send ? send + total : NULL;
    MPI_Comm comm = m->comm;
    MPI_Datatype unit = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
    MPI_Op merge = MPI_OP_NULL;
    int bad = 0, moved = 0, to = root;
    x->ctx = ctx;
    x->count = count;
    x->capacity = capacity;
    x->sentence[0] = 0;
    tally_status status = TALLY_OK;
    if (!fits)
        status = tally_mpi_fail_(TALLY_UNSUPPORTED,
                                 "a message would have %zu bytes: at most 2^35 - 16", total);
    else if (!send)
        status = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for a message of %zu bytes", total);
    else
        status = tally_mpi_pack_(ctx, count, capacity, mine, send);
    status = tally_mpi_agree_(m->comm, status);
    if (status) {
        free(send);
        return status;
    }
    for (int r = 0; r < m->ranks; r++) moved |= m->part[r].rank != r;
    if (moved) { /* ranks of `comm` in the order of the sequence */
        bad |= MPI_Comm_split(m->comm, 0, m->here, &comm);
        for (int r = 0; r < m->ranks; r++)
            if (m->part[r].rank == root) to = r;
    }
    bad |= MPI_Type_contiguous(TALLY_MPI_UNIT_, MPI_BYTE, &unit);
    bad |= MPI_Type_contiguous((int)(total / TALLY_MPI_UNIT_), unit, &type);
    bad |= MPI_Type_commit(&type);
    bad |= MPI_Op_create(tally_mpi_merge_function_, 0, &merge);
    if (!bad && way == TALLY_MPI_TO_ROOT_) bad = MPI_Reduce(send, got, 1, type, merge, to, comm);
    if (!bad && way == TALLY_MPI_TO_ALL_) bad = MPI_Allreduce(send, got, 1, type, merge, comm);
    if (!bad && way == TALLY_MPI_BEFORE_ME_) bad = MPI_Exscan(send, got, 1, type, merge, comm);
    if (merge != MPI_OP_NULL) MPI_Op_free(&merge);
    if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
    if (unit != MPI_DATATYPE_NULL) MPI_Type_free(&unit);
    if (moved && comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    const int mine_too = way == TALLY_MPI_TO_ALL_ ||
                         (way == TALLY_MPI_TO_ROOT_ && m->rank == root) ||
                         (way == TALLY_MPI_BEFORE_ME_ && m->here > 0);
    if (bad)
        status = tally_mpi_fail_(TALLY_IO, "an MPI call failed while the fragments were merged");
    else if (x->sentence[0])
        status = tally_mpi_fail_(TALLY_BAD_DATA, "%s", x->sentence);
    else if (mine_too)
        status = tally_mpi_unpack_(ctx, count, capacity, got, all);
    free(send);
    return tally_mpi_agree_(m->comm, status);
}

#ifdef __cplusplus
}
#endif
#endif
