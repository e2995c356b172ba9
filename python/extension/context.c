/* SPDX-License-Identifier: MIT
 * Contexts. In tally.h one thread at a time may use a context. Here every running call has its own
 * context, from a pool of contexts that earlier calls opened:
 *
 *  place 0 "auto"              free: ctx -> ctx
 *  place 1 "cpu,threads=1"     free: ctx
 *  place 2 "cuda:0"            free:
 *
 * A place is a device string that was used. Operators that Python defined are in a list; a
 * context defines those that it lacks when it is taken from the pool. A mutex guards all of this,
 * because Python may run without the GIL. It is held only for a few lines.
 *
 * Work on arrays of a device goes to their library's current stream, and nothing waits for it. A
 * context keeps its stream, so that the next call on this stream finds it and changes nothing. */
#include "pt.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 256, NAME = 256, DEVICES = 64 };
typedef struct {
    char name[NAME];
    int cuda; /* 1 + the number of the CUDA device that it is; 0: another device, or several */
    pt_slot *free;
} place;
typedef struct {
    char *name, *text, *where;
} definition;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static place places[PLACES] = {{"auto", 0, NULL}};
static int place_count = 1;
static definition *definitions;
static atomic_int definition_count;
static _Thread_local int current;

/* In a child of fork another thread may have held the mutex, and contexts of GPUs are unusable
 * (tally.h). They stay allocated, because the driver cannot close them here. */
static void in_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < place_count; i++)
        if (places[i].free && places[i].free->is_gpu) places[i].free = NULL;
}

int pt_contexts_init(void)
{
    Py_AtExit(tally_abandon);
    if (!pthread_atfork(NULL, NULL, in_child)) return 0;
    PyErr_NoMemory();
    return -1;
}

/* The operator of a call that did not wait, before the call that failed on this thread: its work
 * may be what failed. "": none. */
static _Thread_local char earlier[PT_OP];

int pt_raise(const tally *ctx, tally_status status)
{
    if (status == PT_INTERRUPTED) return -1;
    PyObject *type = status == TALLY_UNSUPPORTED ? PyExc_TypeError
                     : status == TALLY_NO_MEMORY ? PyExc_MemoryError
                     : status == TALLY_IO        ? PyExc_OSError
                     : status == TALLY_MISMATCH  ? PyExc_RuntimeError
                                                 : PyExc_ValueError;
    const char *sentence = tally_error(ctx);
    if (!sentence[0])
        sentence = status == TALLY_NO_MEMORY ? "out of memory" : tally_status_name(status);
    PyObject *text = PyUnicode_DecodeUTF8(sentence, (Py_ssize_t)strlen(sentence), "replace");
    if (text && earlier[0])
        PyErr_Format(type,
                     "%U (or an earlier call failed, whose results nothing waited for: the last of "
                     "tally on this stream was '%s')",
                     text, earlier);
    else if (text)
        PyErr_SetObject(type, text);
    earlier[0] = 0;
    Py_XDECREF(text);
    return -1;
}

/* The number of the CUDA device that a string names, plus 1; else 0. */
static int cuda_of(const char *name)
{
    const size_t length = strcspn(name, ",");
    char plain[32];
    for (int number = 0; number < DEVICES; number++) {
        snprintf(plain, sizeof plain, "cuda:%d", number);
        if (strlen(plain) == length && !memcmp(name, plain, length)) return 1 + number;
    }
    return length == 4 && !memcmp(name, "cuda", 4);
}

/* The place of a device string; -1 with an exception. */
static int place_of(const char *name)
{
    int at, full = 0;
    if (strlen(name) >= NAME) {
        PyErr_Format(PyExc_ValueError, "device has %zu characters: must be fewer than %d",
                     strlen(name), (int)NAME);
        return -1;
    }
    pthread_mutex_lock(&lock);
    for (at = 0; at < place_count; at++)
        if (!strcmp(places[at].name, name)) break;
    if (at == place_count && place_count < PLACES)
        strcpy(places[place_count].name, name), places[place_count++].cuda = cuda_of(name);
    else
        full = at == place_count;
    pthread_mutex_unlock(&lock);
    if (!full) return at;
    PyErr_Format(PyExc_ValueError, "device: at most %d different device strings may be used",
                 (int)PLACES);
    return -1;
}

static pt_slot *open_slot(int at)
{
    pt_slot *slot = calloc(1, sizeof *slot);
    if (!slot) return (pt_slot *)PyErr_NoMemory();
    tally_status status;
    slot->place = at;
    Py_BEGIN_ALLOW_THREADS status = tally_open(&slot->ctx, places[at].name);
    Py_END_ALLOW_THREADS if (status)
    {
        pt_raise(NULL, status);
        free(slot);
        return NULL;
    }
    const char *isa = tally_isa(slot->ctx); /* for a GPU the name of its device */
    slot->is_gpu = strchr(isa, ':') != NULL;
    return slot;
}

/* Defines the operators that were added since this context's last call. */
static int catch_up(pt_slot *slot)
{
    for (;;) {
        definition d = {NULL, NULL, NULL};
        if (slot->defined == definition_count) return 0; /* most often */
        pthread_mutex_lock(&lock);
        if (slot->defined < definition_count) d = definitions[slot->defined];
        pthread_mutex_unlock(&lock);
        if (!d.name) return 0;
        tally_status status = tally_define(slot->ctx, d.name, d.text, d.where);
        if (status) return pt_raise(slot->ctx, status);
        slot->defined++;
    }
}

/* Takes a context of the place that works in this stream; else the one that was used last, which
 * has loaded most, and then changes its stream. NULL: there is none. */
static pt_slot *find_slot(int at, const void *stream)
{
    pt_slot **from = &places[at].free;
    while (*from && (*from)->stream != stream) from = &(*from)->next;
    if (!*from) from = &places[at].free;
    pt_slot *slot = *from;
    if (slot) *from = slot->next;
    return slot;
}

static pt_slot *take_place(int at, void *stream, PyObject *owner)
{
    pthread_mutex_lock(&lock);
    pt_slot *slot = find_slot(at, stream);
    pthread_mutex_unlock(&lock);
    if (!slot) slot = open_slot(at);
    if (!slot) return NULL;
    slot->wanted = stream;
    slot->wanted_owner = owner;
    slot->waits = 0;
    slot->op[0] = 0;
    if (!catch_up(slot) && !pt_catch_up_allocator(slot)) return slot;
    pt_give_back(slot);
    return NULL;
}

/* The place for data on CUDA device `number`. If the thread uses that device, its place, which
 * may have options. */
static int place_of_cuda(int number)
{
    static atomic_int plain[DEVICES]; /* 1 + the place of "cuda:number"; 0: not known */
    char name[32];
    if (places[current].cuda == number + 1) return current;
    if (number < DEVICES && plain[number]) return plain[number] - 1;
    snprintf(name, sizeof name, "cuda:%d", number);
    const int at = place_of(name);
    if (number < DEVICES) plain[number] = at + 1;
    return at;
}

pt_slot *pt_take_all(const pt_operand *const *all, int count)
{
    const pt_operand *first = NULL, *streamed = NULL;
    const void *memory = NULL;
    int waits = 0;
    for (int i = 0; i < count; i++) {
        const pt_operand *a = all[i];
        if (!a || a->device < 0) continue;
        const int other = streamed && a->stream && a->stream != streamed->stream;
        if (first && (a->device != first->device || other)) {
            PyErr_Format(PyExc_ValueError,
                         "%s is on cuda:%d and %s on cuda:%d%s: must be one device and one stream",
                         a->name, a->device, first->name, first->device,
                         a->device == first->device ? ", in another stream" : "");
            return NULL;
        }
        if (!first) first = a;
        if (!streamed && a->stream) streamed = a;
        waits |= a->passing;
        if (a->size) memory = a->data;
    }
    const int at = first ? place_of_cuda(first->device) : current;
    if (at >= 0 && first && !places[at].free && pt_is_captured(first)) return NULL;
    pt_slot *slot = at < 0 ? NULL
                           : take_place(at, streamed ? streamed->stream : NULL,
                                        streamed ? streamed->owner : NULL);
    if (!slot) return NULL;
    slot->waits = waits;
    slot->memory = memory;
    return slot;
}

pt_slot *pt_take(const pt_operand *a, const pt_operand *out)
{
    const pt_operand *const both[] = {a, out};
    return pt_take_all(both, 2);
}

void pt_give_back(pt_slot *slot)
{
    if (!slot) return;
    if (slot->changed) { /* the stream before is not used any more */
        PyObject *before = slot->owner;
        slot->owner = slot->stream ? Py_XNewRef(slot->wanted_owner) : NULL;
        slot->changed = 0;
        Py_XDECREF(before);
    }
    pthread_mutex_lock(&lock);
    slot->next = places[slot->place].free;
    places[slot->place].free = slot;
    pthread_mutex_unlock(&lock);
}

int pt_long(const pt_slot *slot, int64_t bytes)
{
    return bytes > 1 << 14 || slot->is_gpu || slot->defined > 0;
}

static tally_status change_stream(pt_slot *slot, void *stream)
{
    const tally_status status = tally_use_stream(slot->ctx, stream);
    if (!status) slot->stream = stream;
    return status;
}

/* Waits for the work, and leaves the stream, which may not live longer than the call. Copying from
 * the device waits for what the stream was given before. */
static tally_status leave_stream(pt_slot *slot)
{
    char byte;
    const tally_status waited =
        slot->memory ? tally_copy(slot->ctx, &byte, slot->memory, sizeof byte) : TALLY_OK;
    const tally_status left = change_stream(slot, NULL);
    return waited ? waited : left;
}

/* The device's errors may be those of earlier work. */
static tally_status with_earlier(pt_slot *slot, tally_status status)
{
    if (status == TALLY_NO_DEVICE) memcpy(earlier, slot->last, sizeof earlier);
    return status;
}

tally_status pt_stream_begin(pt_slot *slot)
{
    if (slot->wanted == slot->stream || !slot->is_gpu) return TALLY_OK;
    const tally_status status = change_stream(slot, slot->wanted);
    if (!status) slot->changed = 1;
    return with_earlier(slot, status);
}

tally_status pt_stream_end(pt_slot *slot, tally_status status)
{
    if (!slot->stream || !slot->is_gpu) return with_earlier(slot, status);
    const tally_status end = slot->waits ? leave_stream(slot) : TALLY_OK;
    status = with_earlier(slot, status ? status : end);
    if (slot->waits)
        slot->last[0] = 0;
    else
        memcpy(slot->last, slot->op, sizeof slot->last);
    return status;
}

/* ---- called from Python ---- */

/* use(name) -> the name that was used on this thread before */
PyObject *pt_use(PyObject *module, PyObject *name)
{
    const char *text = pt_string(name, "device");
    if (!text) return NULL;
    int before = current, at = place_of(text);
    pt_slot *slot = at < 0 ? NULL : take_place(at, NULL, NULL);
    if (!slot) return NULL;
    pt_give_back(slot);
    current = at;
    return PyUnicode_FromString(places[before].name);
}

static char *copied(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}

/* define(name, text, where) */
PyObject *pt_define(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const char *const names[] = {"name", "text", "where"};
    const char *text[3];
    if (pt_count("define", count, 3)) return NULL;
    for (int i = 0; i < 3; i++)
        if (!(text[i] = pt_string(args[i], names[i]))) return NULL;
    pt_slot *slot = pt_take(NULL, NULL);
    if (!slot) return NULL;
    tally_status status = tally_define(slot->ctx, text[0], text[1], text[2]);
    if (status) {
        pt_raise(slot->ctx, status);
        pt_give_back(slot);
        return NULL;
    }
    definition d = {copied(text[0]), copied(text[1]), copied(text[2])}, *more = NULL;
    pthread_mutex_lock(&lock);
    if (d.name && d.text && d.where &&
        (more = realloc(definitions, (definition_count + 1) * sizeof *more))) {
        definitions = more;
        definitions[definition_count++] = d;
    }
    pthread_mutex_unlock(&lock);
    pt_give_back(slot); /* the context will define it again later, which changes nothing */
    if (more) Py_RETURN_NONE;
    free(d.name);
    free(d.text);
    free(d.where);
    return PyErr_NoMemory();
}

/* about() -> (device string, instruction set or GPU, threads) of this thread's device */
PyObject *pt_about(PyObject *module, PyObject *unused)
{
    pt_slot *slot = pt_take(NULL, NULL);
    if (!slot) return NULL;
    PyObject *about = Py_BuildValue("(ssi)", places[slot->place].name, tally_isa(slot->ctx),
                                    tally_threads(slot->ctx));
    pt_give_back(slot);
    return about;
}
