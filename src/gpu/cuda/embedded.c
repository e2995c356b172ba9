/* SPDX-License-Identifier: MIT
 * The library's archive of compiled CUDA programs (code.h): the file TL_ARCHIVE, or an empty
 * archive. It is included by the assembler, because a compiler takes minutes for such an array. */
#include "code.h"
#ifdef TL_ARCHIVE
__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        ".globl tl_embedded\n"
        ".hidden tl_embedded\n"
        "tl_embedded:\n"
        ".incbin \"" TL_ARCHIVE "\"\n"
        ".popsection\n");
#else
const unsigned char tl_embedded[sizeof(tl_archive_head)] = {0};

#endif
