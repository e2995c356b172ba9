/* SPDX-License-Identifier: MIT
 * The shortest use: the sum of an array, and its bits.
 * Run: sum */
#include <stdio.h>
#include <tally.h>

int main(void)
{
    float x[1000];
    for (int i = 0; i < 1000; i++) x[i] = 0.1f * (float)i;
    char bits[48];
    const float sum = tally_sum_f32(x, 1000), mean = tally_mean_f32(x, 1000);
    tally_format_value(TALLY_F32, &sum, 1, bits, sizeof bits);
    printf("sum %.9g (%s) mean %.9g max %.9g\n", sum, bits, mean, tally_max_f32(x, 1000));
    return 0;
}
