/* SPDX-License-Identifier: MIT
 * Suggestions for unknown names, for the error sentences of the library and of the command line. */
#pragma once

enum { TL_HINT = 96 };

/* Writes a suggestion such as " did you mean 'mean'?" to `to`, or "", and returns `to`. It
 * suggests tally's word for another program's name, else the nearest of `names`, which end with
 * NULL. what: the kind of name: "operator", "dtype", or another word. */
const char *tl_hint(const char *what, const char *given, const char *const *names,
                    char to[TL_HINT]);
