/* SPDX-License-Identifier: MIT
 * What was meant by a name that is none, for sentences of the library and of the command line. */
#ifndef TALLY_HINT_H
#define TALLY_HINT_H

enum { TL_HINT = 96 };

/* " did you mean 'mean'?" in `to`, which it returns, or "": of what other programs call it, or
 * the nearest of `names`, which end with NULL. what: "operator", "dtype", or another word. */
const char *tl_hint(const char *what, const char *given, const char *const *names,
                    char to[TL_HINT]);
#endif
