/* SPDX-License-Identifier: MIT
 * main.c - tally VERB [OPTION...] [OPERAND...]: finds the verb, parses, runs, and checks that
 * standard output was written. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int (*const run[VERB_COUNT])(const options *) = {
#define VERB(id, ...) run_##id,
#include "options.def"
#undef VERB
};

static int unknown_verb(const char *given)
{
    const char *names[VERB_COUNT + 1] = {NULL};
    for (int v = 0; v < VERB_COUNT; v++) names[v] = verb_table[v].name;
    if (is_operator(given))
        return fail(USAGE,
                    "there is no verb '%s', which is an operator: `tally reduce %s`, `tally scan "
                    "%s` or `tally window %s -w W`",
                    given, given, given, given);
    return fail_choice(USAGE, "verb", given, names);
}

static int dispatch(int argc, char **argv)
{
    options o = {.verb = VERB_help};
    if (argc < 2) {
        help_all(stderr);
        return USAGE;
    }
    const int named = argv[1][0] != '-'; /* `tally --help` is `tally help` */
    if (named) {
        o.verb = options_verb(argv[1]);
        if (o.verb == VERB_COUNT) return unknown_verb(argv[1]);
        argc--;
        argv++;
    }
    const int code = options_parse(&o, argc - 1, argv + 1);
    if (code) return code;
    if (has(&o, OPT_version)) {
        printf("tally %s (order E v1)\n", tally_version());
        return DONE;
    }
    if (has(&o, OPT_help) && named) {
        help_verb(stdout, o.verb);
        return DONE;
    }
    const int wrong = session_operators(&o);
    return wrong ? wrong : run[o.verb](&o);
}

/* Opens /dev/null for each standard stream that is closed. Else the next file that is opened
 * would get its number and receive its output. */
static void hold_places(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            return;
}

int main(int argc, char **argv)
{
    hold_places();
    signals_begin();
    stdout_begin();
    return stdout_finish(dispatch(argc, argv));
}
