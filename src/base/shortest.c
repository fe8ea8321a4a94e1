/* SPDX-License-Identifier: MIT
 * The shortest decimal of a float, by arithmetic in double.
 *
 * With n digits it is m 10^-k, where m is the integer next to x 10^k. Both 10^k (k <= 22) and m
 * (below 10^9) are exact in double, so each product and quotient rounds once: x 10^k is right to
 * 2^-24, and m 10^-k is the double next to the decimal. Rounding keeps order: where that double
 * lies between the middles to the two floats beside x, so does the decimal, and it reads back as x;
 * where it lies outside, it does not. Invariant: what is close to call is left to the caller. Read
 * next: number.c. */
#include "base/shortest.h"

#include <math.h>
#include <string.h>

enum { FEWEST = 6, MOST = 9 }; /* digits: all decimals of 6 are told apart, 9 tell all floats */
static const double LEAST = 1e-13, LARGEST = 1e22;
static const double TIE = 1e-6; /* closer to a half than x 10^k is known */

/* x 10^k for k of either sign; one rounding. */
static double times_power(double x, int k)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    return k >= 0 ? x * power[k] : x / power[-k];
}

/* The e of 10^e <= x < 10^(e + 1), or one beside it for an x next to a power of ten. */
static int decimal_exponent(double x)
{
    return (int)floor(log10(x));
}

static void write(uint32_t m, int n, int exponent, rdk_decimal *d)
{
    while (m % 10 == 0) {
        m /= 10;
        n--;
    }
    d->n = n;
    d->exponent = exponent;
    for (int i = n; i-- > 0; m /= 10) d->digits[i] = (char)('0' + m % 10);
}

bool rdk_shortest_float(float x, rdk_decimal *d)
{
    int binary;
    const double value = (double)x;
    if (!(value >= LEAST && value < LARGEST) || frexp(value, &binary) == 0.5) return false;
    const double below = (value + (double)nextafterf(x, 0)) / 2;
    const double above = (value + (double)nextafterf(x, INFINITY)) / 2;
    const int exponent = decimal_exponent(value);
    for (int n = FEWEST; n <= MOST; n++) {
        const int k = n - 1 - exponent;
        const double scaled = times_power(value, k), m = floor(scaled + 0.5);
        const double lowest = times_power(1, n - 1);
        if (fabs(fabs(scaled - m) - 0.5) < TIE || m < lowest || m >= 10 * lowest) return false;
        const double back = times_power(m, -k);
        if (back == below || back == above) return false;
        if (back > below && back < above) {
            write((uint32_t)m, n, exponent, d);
            return true;
        }
    }
    return false;
}
