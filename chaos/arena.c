#include "chaos/arena.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMMAND_LINE_MAX = 4096, CHILDREN_TEXT_MAX = 8192 };

static struct place *add(struct arena *arena)
{
    assert(arena->count < PLACES_MAX);
    return &arena->places[arena->count++];
}

void arena_init(struct arena *arena, const struct job *job)
{
    const uint32_t counts[ROLE_COUNT] = {job->cluster.coordinators, job->cluster.ps,
                                         job->cluster.workers};
    *arena = (struct arena){.job = job};
    snprintf(add(arena)->name, PLACE_NAME_MAX, "agent");
    for (uint32_t i = 1; i <= job->zookeeper.servers; i++) {
        struct place *place = add(arena);
        place->server = i;
        snprintf(place->name, sizeof place->name, "zookeeper:%u", i);
    }
    for (int role = 0; role < ROLE_COUNT; role++)
        for (uint32_t i = 0; i < counts[role]; i++) {
            struct place *place = add(arena);
            place->is_node = true;
            place->task = (struct task){.role = (enum role)role, .index = i};
            task_format(place->task, ':', place->name, sizeof place->name);
        }
}

struct place *arena_place(struct arena *arena, const char *name)
{
    for (uint32_t i = 0; i < arena->count; i++)
        if (strcmp(arena->places[i].name, name) == 0) return &arena->places[i];
    return NULL;
}

/* ------------------------------------------------------------- processes */

static ssize_t read_small(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t got = read(fd, text, size - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got;
}

char arena_process_state(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    if (pid <= 0 || read_small(path, text, sizeof text) <= 0) return 0;
    const char *state = strrchr(text, ')'); /* Names may hold anything. */
    if (!state || state[1] != ' ' || state[2] == 'Z' || state[2] == 'X') return 0;
    return state[2];
}

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

/* Who a process is by its words: `tanist ps --index 1 ...`, `java ... /zookeeper/2/zoo.cfg`. */
static struct place *place_of(struct arena *arena, char *words, size_t size)
{
    char name[PLACE_NAME_MAX] = "", role[16] = "";
    const char *before = "";
    for (char *word = words; word < words + size; word += strlen(word) + 1) {
        const char *server = strstr(word, "/zookeeper/");
        unsigned number = 0;
        /* The run's own folder may be below one of that name. */
        for (; server; server = strstr(server + 1, "/zookeeper/"))
            if (sscanf(server, "/zookeeper/%u/zoo.cfg", &number) == 1)
                snprintf(name, sizeof name, "zookeeper:%u", number);
        if (strcmp(before, "tanist") == 0) snprintf(role, sizeof role, "%.15s", word);
        if (*role && strcmp(before, "--index") == 0 && is_number(word))
            snprintf(name, sizeof name, "%.11s:%.10s", role, word);
        before = word;
    }
    return *name ? arena_place(arena, name) : NULL;
}

static void look_at_child(struct arena *arena, pid_t pid, pid_t found[static PLACES_MAX])
{
    char path[64], words[COMMAND_LINE_MAX];
    for (uint32_t i = 0; i < arena->count; i++)
        if (arena->places[i].pid == pid) {
            found[i] = pid;
            return;
        }
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)pid);
    ssize_t size = read_small(path, words, sizeof words);
    struct place *place = size > 0 ? place_of(arena, words, (size_t)size) : NULL;
    if (place) found[place - arena->places] = pid;
}

void arena_look(struct arena *arena)
{
    char path[64], text[CHILDREN_TEXT_MAX];
    pid_t found[PLACES_MAX] = {0}, agent = arena->places[0].pid;
    found[0] = agent;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)agent, (long)agent);
    if (agent > 0 && read_small(path, text, sizeof text) > 0) {
        char *rest = NULL;
        for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
            look_at_child(arena, (pid_t)strtol(word, NULL, 10), found);
    }
    for (uint32_t i = 0; i < arena->count; i++)
        arena->places[i].pid = arena_process_state(found[i]) ? found[i] : 0;
}

/* ------------------------------------------------------------- targets */

static void name_target(struct strike *strike, const char *name)
{
    if (strike->target_count < TARGETS_MAX)
        snprintf(strike->targets[strike->target_count++], PLACE_NAME_MAX, "%.*s",
                 PLACE_NAME_MAX - 1, name);
}

/* `least` of them, from a random one on. */
static void some_servers(struct arena *arena, struct strike *strike, uint32_t least,
                         const char *except)
{
    uint32_t servers = arena->job->zookeeper.servers;
    uint32_t first = servers ? (uint32_t)random_below(&arena->random, servers) : 0;
    for (uint32_t i = 0; i < servers && strike->target_count < least; i++) {
        char name[PLACE_NAME_MAX];
        snprintf(name, sizeof name, "zookeeper:%u", (first + i) % servers + 1);
        if (strcmp(name, except) != 0) name_target(strike, name);
    }
}

static void all_places(struct arena *arena, struct strike *strike)
{
    for (uint32_t i = 0; i < arena->count; i++) name_target(strike, arena->places[i].name);
}

enum tn_status arena_resolve(struct arena *arena, struct strike *strike, struct error *error)
{
    const char *whom = strike->injection.whom;
    uint32_t servers = arena->job->zookeeper.servers;
    strike->target_count = 0;
    if (strcmp(whom, "chief") == 0 && *arena->chief)
        name_target(strike, arena->chief);
    else if (strcmp(whom, "zookeeper-leader") == 0 && *arena->zookeeper_leader)
        name_target(strike, arena->zookeeper_leader);
    else if (strcmp(whom, "zookeeper-follower") == 0)
        some_servers(arena, strike, 1, arena->zookeeper_leader);
    else if (strcmp(whom, "zookeeper-majority") == 0)
        some_servers(arena, strike, servers / 2 + 1, "");
    else if (strcmp(whom, "zookeeper-all") == 0)
        some_servers(arena, strike, servers, "");
    else if (strcmp(whom, "everything") == 0 || strcmp(whom, "cluster") == 0)
        all_places(arena, strike);
    else if (arena_place(arena, whom))
        name_target(strike, whom);
    if (strike->target_count > 0) return TN_OK;
    return error_set(error, TN_EAGAIN, "there is no %s now", whom);
}
