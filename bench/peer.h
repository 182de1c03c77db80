/* bench/peer.h: another program that does the same work, in a process with a pipe in each
 * direction. For each line "BATCH REPEATS" it prints the processor seconds of one step. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct peer {
    FILE *ask, *answer; /* NULL: it does not run. */
};

/* Start `script`, which prints its name first, by the interpreter `python`. */
static inline struct peer peer_start(const char *python, const char *script)
{
    int to[2], from[2];
    char name[64];
    struct peer peer = {NULL, NULL};
    if (pipe(to) != 0 || pipe(from) != 0) { return peer; }
    if (fork() == 0) {
        (void)dup2(to[0], STDIN_FILENO);
        (void)dup2(from[1], STDOUT_FILENO);
        (void)close(to[1]);
        (void)execlp(python, python, "-B", script, (char *)NULL);
        _exit(127);
    }
    (void)close(from[1]);
    peer.ask = fdopen(to[1], "w");
    peer.answer = fdopen(from[0], "r");
    if (peer.ask == NULL || peer.answer == NULL || fgets(name, sizeof name, peer.answer) == NULL) {
        printf("skipped: %s cannot run %s\n", python, script);
        peer.ask = NULL;
        return peer;
    }
    printf("beside %s", name);
    return peer;
}

/* Processor seconds of one step; 0: without a peer. */
static inline double peer_seconds(const struct peer *peer, size_t batch, size_t repeats)
{
    char line[64];
    if (peer->ask == NULL) { return 0; }
    (void)fprintf(peer->ask, "%zu %zu\n", batch, repeats);
    (void)fflush(peer->ask);
    return fgets(line, sizeof line, peer->answer) != NULL ? strtod(line, NULL) : 0;
}

#endif
