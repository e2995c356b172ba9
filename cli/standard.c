/* SPDX-License-Identifier: MIT
 * standard.c - standard output that another program made non-blocking.
 *
 * stdio stops at EAGAIN and loses its buffer. The flag belongs to the open file, which other
 * processes share, so it must not be changed. Therefore the same pipe or terminal is opened again
 * for this process only. A socket cannot be opened again; for a socket the flag is cleared while
 * the process runs. (The library's own writes wait with poll.) */
#include "cli.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void give_back(void)
{
    const int flags = fcntl(1, F_GETFL);
    if (flags >= 0) fcntl(1, F_SETFL, flags | O_NONBLOCK);
}

void stdout_begin(void)
{
    const int flags = fcntl(1, F_GETFL);
    if (flags < 0 || !(flags & O_NONBLOCK)) return;
    const int again =
        open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | (flags & O_APPEND));
    if (again < 0) {
        if (fcntl(1, F_SETFL, flags & ~O_NONBLOCK) == 0) atexit(give_back);
        return;
    }
    fcntl(again, F_SETFL, flags & ~O_NONBLOCK);
    dup2(again, 1);
    close(again);
}
