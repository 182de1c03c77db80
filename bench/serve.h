/* bench/serve.h: a program that bench/run asks for one measurement at a time, so that those of
 * several programs alternate: for each line with a number of seconds on standard input it measures
 * for about this time and prints one number. In between it sleeps. */
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#include <stdio.h>
#include <stdlib.h>

static inline void serve(double (*measure)(double seconds))
{
    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL) {
        printf("%.9g\n", measure(strtod(line, NULL)));
        (void)fflush(stdout);
    }
}

#endif
