/* SPDX-License-Identifier: MIT
 * An NVRTC that is none, as libnvrtc.so.13, for test_better.c. Its code is "\x7fquick" or
 * "\x7fbest", by the option that asks for quick code, and fake/cuda.c says which of them was
 * loaded. The best takes FAKE_NVRTC_MS milliseconds, in which it asks once each whether to give
 * up; FAKE_NVRTC_FAILS=1: it is not made; FAKE_NVRTC_DEAF=1: nobody can stop it.
 * fake_nvrtc_quick, fake_nvrtc_best: programs it was asked for; fake_nvrtc_running: in the
 * compiler now. It aborts when it is taken apart at the end of a process while it compiles. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COMPILATION = 6, CANCELLED = 16 };
typedef struct {
    int best;
    int (*stop)(void *, void *);
    void *payload;
} program;

atomic_int fake_nvrtc_quick, fake_nvrtc_best, fake_nvrtc_running;

static __attribute__((destructor)) void at_end(void)
{
    if (atomic_load(&fake_nvrtc_running)) abort();
}

int nvrtcVersion(int *major, int *minor) { return *major = 13, *minor = 0; }
int nvrtcCreateProgram(program **p, const char *text, const char *name, int n, const char *const *a,
                       const char *const *b)
{
    *p = calloc(1, sizeof **p);
    return !*p || !text || !name || n || a || b;
}
int nvrtcDestroyProgram(program **p) { return free(*p), *p = NULL, 0; }
int nvrtcSetFlowCallback(program *p, int (*stop)(void *, void *), void *payload)
{
    p->stop = stop;
    p->payload = payload;
    return 0;
}
int nvrtcCompileProgram(program *p, int count, const char *const *options)
{
    const char *ms = getenv("FAKE_NVRTC_MS");
    int error = 0;
    p->best = 1;
    for (int i = 0; i < count; i++) p->best &= !strstr(options[i], "Ofast-compile");
    atomic_fetch_add(p->best ? &fake_nvrtc_best : &fake_nvrtc_quick, 1);
    atomic_fetch_add(&fake_nvrtc_running, 1);
    if (p->best && getenv("FAKE_NVRTC_FAILS")) error = COMPILATION;
    for (int i = ms && p->best ? atoi(ms) : 0; !error && i > 0; i--) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        if (p->stop && !getenv("FAKE_NVRTC_DEAF") && p->stop(p->payload, NULL)) error = CANCELLED;
    }
    atomic_fetch_sub(&fake_nvrtc_running, 1);
    return error;
}
static const char *code_of(const program *p)
{
    return p->best ? "\x7f"
                     "best"
                   : "\x7f"
                     "quick";
}
int nvrtcGetNumSupportedArchs(int *count) { return *count = 0, 0; }
int nvrtcGetSupportedArchs(int *archs) { return !archs; }
int nvrtcGetCUBINSize(program *p, size_t *bytes) { return *bytes = strlen(code_of(p)) + 1, 0; }
int nvrtcGetCUBIN(program *p, char *to) { return strcpy(to, code_of(p)), 0; }
int nvrtcGetPTXSize(program *p, size_t *bytes) { return nvrtcGetCUBINSize(p, bytes); }
int nvrtcGetPTX(program *p, char *to) { return nvrtcGetCUBIN(p, to); }
int nvrtcGetProgramLogSize(program *p, size_t *bytes) { return *bytes = 1, !p; }
int nvrtcGetProgramLog(program *p, char *to) { return *to = 0, !p; }
