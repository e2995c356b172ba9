// SPDX-License-Identifier: MIT
// tally.h is C++ too.
#include <cstdio>
#include <tally.h>

int main()
{
    const double x[] = {1, 2, 3.5};
    std::printf("tally %s: %g %g\n", tally_version(), tally_sum_f64(x, 3), tally_max_f64(x, 3));
    return 0;
}
