/* SPDX-License-Identifier: MIT
 * Reads gzip and zstd through the system's libz and libzstd, which are opened at run time. A thread
 * decompresses into a pipe ahead of the reader, which reads the pipe as any other. */
#define _GNU_SOURCE
#include "io.h"
#include "store/store.h"
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TL_OPENS("compressed", "files that gzip and zstd compressed", "\"libz.so.1\",\"libzstd.so.1\"");

enum { BLOCK = 1 << 18, PIPE = 1 << 20 };

/* z_stream of zlib.h, whose layout is part of its binary interface, and the buffers of zstd.h */
typedef struct {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *message;
    void *state, *(*allocate)(void *, unsigned, unsigned);
    void (*release)(void *, void *);
    void *opaque;
    int data_type;
    unsigned long checksum, reserved;
} z_stream;

typedef struct {
    const void *from;
    size_t size, at;
} z_input;

typedef struct {
    void *to;
    size_t size, at;
} z_output;

enum { GZIP, ZSTD };
static const struct {
    const char *magic;
    size_t length;
    const char *what, *library;
} kinds[] = {{"\x1f\x8b\x08", 3, "gzip", "libz.so.1"},
             {"\x28\xb5\x2f\xfd", 4, "zstd", "libzstd.so.1"}};
static const char *const calls[][4] = {
    {"inflateInit2_", "inflate", "inflateEnd", "inflateReset"},
    {"ZSTD_createDStream", "ZSTD_decompressStream", "ZSTD_freeDStream", "ZSTD_isError"}};

static const char senseless[] = "its bytes make no sense";

struct tl_compressed {
    tally_file source; /* its bytes come from here */
    int kind, to;      /* to: the end of the pipe that the thread writes */
    void *library;
    union { /* the functions of the kind, in the order of calls[kind] */
        void *call[4];
        struct {
            int (*begin)(z_stream *, int bits, const char *version, int bytes);
            int (*inflate)(z_stream *, int flush);
            int (*end)(z_stream *);
            int (*reset)(z_stream *);
        } gzip;
        struct {
            void *(*begin)(void);
            size_t (*decompress)(void *, z_output *, z_input *);
            size_t (*end)(void *);
            unsigned (*failed)(size_t);
        } zstd;
    };
    union {
        z_stream gzip;
        void *zstd;
    } state;
    int open; /* a member of the file has begun and not ended */
    pthread_t thread;
    int running;
    int64_t at;    /* compressed bytes that were read */
    char why[120]; /* why the bytes cannot be decompressed, or "" */
    unsigned char in[BLOCK], out[BLOCK];
};

/* ---- on the thread ---- */

/* Writes to the pipe. Returns 0 if its reader has closed it. */
static int write_all(const tl_compressed *c, size_t n)
{
    for (size_t done = 0; done < n;) {
        const ssize_t r = write(c->to, c->out + done, n - done);
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) return 0;
        done += (size_t)r;
    }
    return 1;
}

static int bad(tl_compressed *c, int64_t left, const char *why)
{
    snprintf(c->why, sizeof c->why, "is damaged near byte %ld of its %s data: %s", c->at - left,
             kinds[c->kind].what, why);
    return 0;
}

/* One call of a library, from c->in, of whose n bytes *at are done, to c->out, which gets *produced
 * bytes. Returns what is wrong, or NULL. */
static const char *inflate(tl_compressed *c, size_t n, size_t *at, size_t *produced)
{
    enum { NO_FLUSH = 0, STREAM_END = 1, BUFFER = -5 };
    z_stream *const z = &c->state.gzip;
    z->next_in = c->in + *at;
    z->avail_in = (unsigned)(n - *at);
    z->next_out = c->out;
    z->avail_out = BLOCK;
    const int r = c->gzip.inflate(z, NO_FLUSH);
    *at = n - z->avail_in;
    *produced = BLOCK - z->avail_out;
    c->open = r != STREAM_END;
    if (r == STREAM_END) c->gzip.reset(z);
    return r == 0 || r == STREAM_END || r == BUFFER ? NULL : z->message ? z->message : senseless;
}

static const char *unzstd(tl_compressed *c, size_t n, size_t *at, size_t *produced)
{
    z_input in = {c->in, n, *at};
    z_output out = {c->out, BLOCK, 0};
    const size_t r = c->zstd.decompress(c->state.zstd, &out, &in);
    *at = in.at;
    *produced = out.at;
    c->open = r != 0;
    return c->zstd.failed(r) ? senseless : NULL;
}

/* Decompresses n bytes; a file may have several members, and zeros after a member of gzip. 0: a
 * failure, or no reader. A full output may be followed by more, unless its member has ended. */
static int block(tl_compressed *c, size_t n)
{
    for (size_t at = 0, produced = 0; at < n || (produced == BLOCK && c->open);) {
        if (c->kind == GZIP && !c->open && !c->in[at]) { /* as tar and tapes fill up a block */
            at++;
            continue;
        }
        const char *const why = (c->kind == GZIP ? inflate : unzstd)(c, n, &at, &produced);
        if (!write_all(c, produced)) return 0;
        if (why) return bad(c, (int64_t)(n - at), why);
    }
    return 1;
}

static void *work(void *data)
{
    tl_compressed *const c = data;
    int more;
    if (c->kind == GZIP)
        more = !c->gzip.begin(&c->state.gzip, 15 + 16, "1.2.0", (int)sizeof c->state.gzip);
    else
        more = (c->state.zstd = c->zstd.begin()) != NULL;
    if (!more) snprintf(c->why, sizeof c->why, "there is no memory to decompress it");
    c->open = 1;

    for (int64_t n = 1; more && n > 0;) {
        struct pollfd p[] = {{c->source.fd, POLLIN, 0}, {c->to, 0, 0}};
        if (tl_input_would_wait(&c->source)) poll(p, 2, -1);
        if (p[1].revents) break; /* the reader has closed the pipe */
        n = tl_input_some(&c->source, c->in, BLOCK);
        if (n < 0) snprintf(c->why, sizeof c->why, "reading: %s", strerror(errno));
        if (n <= 0) break;
        c->at += n;
        more = block(c, (size_t)n);
    }
    if (more && c->open && !*c->why) bad(c, 0, "it ends too early");
    if (c->kind == GZIP)
        c->gzip.end(&c->state.gzip);
    else
        c->zstd.end(c->state.zstd);
    close(c->to); /* the reader sees the end, and then asks for `why` */
    return NULL;
}

/* ---- on the reader's thread ---- */

static void join(tl_compressed *c)
{
    if (c->running) pthread_join(c->thread, NULL);
    c->running = 0;
}

static const char *failure(tl_compressed *c)
{
    join(c);
    return *c->why ? c->why : NULL;
}

void tl_compressed_close(tl_compressed *c)
{
    if (!c) return;
    join(c);
    if (c->source.owns_fd) close(c->source.fd);
    free(c->source.peek);
    free(c);
}

static tally_status begin(tally_file *f, tl_compressed *c)
{
    assert(!f->compressed && !f->text);
    int ends[2];
    sigset_t signals, old;
    c->library = dlopen(kinds[c->kind].library, RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; i < 4; i++)
        if (!c->library || !(c->call[i] = dlsym(c->library, calls[c->kind][i])))
            return tl_unsupported_on(
                f, "is compressed by %s, and %s is not here: %s -dc FILE | tally ...",
                kinds[c->kind].what, kinds[c->kind].library, kinds[c->kind].what);
    if (pipe2(ends, O_CLOEXEC) != 0) return tl_input_failed(f);
    fcntl(ends[1], F_SETPIPE_SZ, PIPE); /* a failure leaves the default size */
    c->source = *f;
    c->to = ends[1];
    f->compressed = c;
    f->failure = failure;
    f->fd = ends[0];
    f->owns_fd = 1;
    f->regular = f->peek_end = 0;
    f->pos = 0;
    f->size = f->info.bytes_total = -1;
    f->peek = NULL;
    f->peek_n = f->peek_at = f->peek_capacity = 0;

    /* no signal is delivered to the thread, SIGPIPE included: a closed pipe is an error of write */
    sigfillset(&signals);
    pthread_sigmask(SIG_SETMASK, &signals, &old);
    const int failed = pthread_create(&c->thread, NULL, work, c);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    c->running = !failed;
    if (failed) close(ends[1]);
    return failed ? tl_no_memory(f->ctx, BLOCK, "a thread that decompresses") : TALLY_OK;
}

tally_status tl_compressed_open(tally_file *f)
{
    for (int i = -1; i <= 16; i++) { /* -1: gzip; 1 to 16: a frame of zstd that is skipped */
        const int kind = i < 0 ? GZIP : ZSTD;
        const char skipped[] = {(char)(0x4f + i), 0x2a, 0x4d, 0x18};
        int is = 0;
        tally_status s = tl_input_begins(f, i > 0 ? skipped : kinds[kind].magic,
                                         i > 0 ? sizeof skipped : kinds[kind].length, &is);
        if (!s && !is) continue;
        tl_compressed *const c = s ? NULL : calloc(1, sizeof *c);
        if (!c) return s ? s : tl_no_memory(f->ctx, sizeof *c, "decompressing");
        c->kind = kind;
        s = begin(f, c);
        if (s && !f->compressed) free(c);
        return s;
    }

    return TALLY_OK;
}
