/*
 * Candidates are dealt out and compared by their cost. A candidate is determined by its grain, the
 * power of two in which slices are dealt out, and by whether owners keep what they have:
 *
 *   apportion()  how many slices each worker gets: always to the one that would finish first
 *   deal()       which ones: the largest nodes first, where possible to their previous owners
 */
#include "coordinator/assign.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"

enum { NO_WORKER = UINT16_MAX };
#define SLICE_NS_MAX (UINT64_C(1) << 50) /* 13 days: sums of such times fit. */

/* The input, with every time known, and what workers own before. */
struct problem {
    const struct assign_input *input;
    struct assignment before; /* Slices of workers that are not ready have no owner. */
    uint32_t owned[WORKERS_MAX];
    uint64_t slice_ns[WORKERS_MAX], mean_ns;
    uint32_t ready;   /* How many are. */
    uint32_t workers; /* Workers from this index on are not ready. */
};

/* --------------------------------------------------------------------- costs */

static bool is_uniform(const struct assignment *assignment, struct slice_node node)
{
    for (uint32_t v = node.first + 1; v < node.first + node.count; v++) {
        if (assignment->worker[v] != assignment->worker[node.first]) { return false; }
    }
    return true;
}

uint32_t assign_pushes(const struct assignment *assignment)
{
    enum { DEPTH_MAX = 16 };
    struct slice_node stack[DEPTH_MAX] = {{0, assignment->slice_count}};
    uint32_t depth = 1, pushes = 0;
    assert(assignment->slice_count > 0 && assignment->slice_count <= SLICES_MAX);
    while (depth > 0) {
        struct slice_node at = stack[--depth], left, right;
        if (is_uniform(assignment, at)) {
            pushes++;
            continue;
        }
        assert(depth + 2 <= DEPTH_MAX);
        slices_children(at, &left, &right);
        stack[depth++] = right;
        stack[depth++] = left;
    }
    return pushes;
}

static uint64_t cost_ns(const struct problem *p, const struct assignment *assignment)
{
    uint32_t owned[WORKERS_MAX] = {0}, moved = 0;
    uint64_t longest_ns = 0;
    for (uint32_t v = 0; v < assignment->slice_count; v++) {
        const uint16_t worker = assignment->worker[v];
        assert(worker < WORKERS_MAX);
        owned[worker]++;
        moved += worker != p->before.worker[v];
        longest_ns = u64_max(longest_ns, owned[worker] * p->slice_ns[worker]);
    }
    return longest_ns + assign_pushes(assignment) * p->input->push_ns +
           moved * p->mean_ns / ASSIGN_HORIZON_STEPS;
}

/* ------------------------------------------------------------------ problems */

/* Times that are unknown are the mean of the others. Without any, they follow from that of a
 * push. */
static void complete_times(struct problem *p)
{
    const struct assign_input *input = p->input;
    uint64_t sum = 0, known = 0;
    for (uint32_t w = 0; w < WORKERS_MAX; w++) {
        if (!input->ready[w] || input->slice_ns[w] == 0) { continue; }
        sum += u64_min(input->slice_ns[w], SLICE_NS_MAX);
        known++;
    }
    p->mean_ns = known > 0 ? sum / known : u64_max(input->push_ns, 1) * ASSIGN_PUSHES_PER_SLICE;
    for (uint32_t w = 0; w < WORKERS_MAX; w++) {
        const uint64_t ns = u64_min(input->slice_ns[w], SLICE_NS_MAX);
        p->slice_ns[w] = ns > 0 ? ns : p->mean_ns;
    }
}

static void describe(struct problem *p, const struct assignment *before,
                     const struct assign_input *input)
{
    *p = (struct problem){.input = input, .before = *before};
    for (uint32_t w = 0; w < WORKERS_MAX; w++) {
        p->ready += input->ready[w];
        if (input->ready[w]) { p->workers = w + 1; }
    }
    p->before.slice_count = input->slices;
    for (uint32_t v = 0; v < SLICES_MAX; v++) {
        uint16_t *owner = &p->before.worker[v];
        assert(*owner == NO_WORKER || *owner < WORKERS_MAX);
        const bool stays = v < before->slice_count && before->slice_count == input->slices &&
                           *owner != NO_WORKER && input->ready[*owner];
        if (!stays) { *owner = NO_WORKER; }
        if (stays) { p->owned[*owner]++; }
    }
    complete_times(p);
}

/* Whether no slice has to move. */
static bool is_settled(const struct problem *p)
{
    for (uint32_t v = 0; v < p->input->slices; v++) {
        if (p->before.worker[v] == NO_WORKER) { return false; }
    }
    for (uint32_t w = 0; w < p->workers; w++) {
        const bool idle = p->input->ready[w] && p->owned[w] == 0;
        if (idle && p->ready <= p->input->slices) { return false; }
    }
    return true;
}

/* ---------------------------------------------------------------- candidates */

/* Whether worker `a` with `a_ns` precedes `b`: it finishes first, or owns more, or has a lower
 * index. */
static bool precedes(const struct problem *p, uint32_t a, uint64_t a_ns, uint32_t b, uint64_t b_ns)
{
    if (a_ns != b_ns) { return a_ns < b_ns; }
    return p->owned[a] != p->owned[b] ? p->owned[a] > p->owned[b] : a < b;
}

/* The numbers of slices of the workers. `keeps`: none gets less than it owns. False: there are
 * too few slices for that. */
static bool apportion(const struct problem *p, uint32_t grain, bool keeps,
                      uint32_t wanted[static WORKERS_MAX])
{
    const uint32_t least = p->ready <= p->input->slices ? 1 : 0;
    uint32_t left = p->input->slices;
    for (uint32_t w = 0; w < p->workers; w++) {
        wanted[w] = p->input->ready[w] ? u32_max(least, keeps ? p->owned[w] : 0) : 0;
        if (wanted[w] > left) { return false; }
        left -= wanted[w];
    }
    while (left > 0) {
        uint32_t first = NO_WORKER;
        uint64_t first_ns = UINT64_MAX;
        for (uint32_t w = 0; w < p->workers; w++) {
            if (!p->input->ready[w]) { continue; }
            const uint32_t more = u32_min(grain - wanted[w] % grain, left);
            const uint64_t ns = (wanted[w] + more) * p->slice_ns[w];
            if (first != NO_WORKER && !precedes(p, w, ns, first, first_ns)) { continue; }
            first = w;
            first_ns = ns;
        }
        assert(first != NO_WORKER);
        const uint32_t more = u32_min(grain - wanted[first] % grain, left);
        wanted[first] += more;
        left -= more;
    }
    return true;
}

/* The worker that should get the free node [first, first + size): it needs this number of slices
 * and owned at least `overlap` of them. NO_WORKER: none, or the node is not free. */
static uint32_t taker(const struct problem *p, const struct assignment *out, const uint32_t *needed,
                      struct slice_node node, uint32_t overlap)
{
    uint32_t owned[WORKERS_MAX], best = NO_WORKER;
    memset(owned, 0, p->workers * sizeof owned[0]);
    for (uint32_t v = node.first; v < node.first + node.count; v++) {
        if (out->worker[v] != NO_WORKER) { return NO_WORKER; }
        const uint16_t owner = p->before.worker[v];
        if (owner == NO_WORKER || overlap == 0) { continue; }
        if (++owned[owner] >= overlap && needed[owner] >= node.count) { return owner; }
    }
    for (uint32_t w = 0; w < p->workers && overlap == 0; w++) {
        if (needed[w] < node.count) { continue; }
        if (best == NO_WORKER || needed[w] > needed[best]) { best = w; }
    }
    return best;
}

/* Give free nodes of `size` slices to workers that need this number. */
static void deal_nodes(const struct problem *p, uint32_t size, uint32_t overlap, uint32_t *needed,
                       struct assignment *out)
{
    for (uint32_t first = 0; first + size <= out->slice_count; first += size) {
        const uint32_t w = taker(p, out, needed, (struct slice_node){first, size}, overlap);
        if (w == NO_WORKER) { continue; }
        for (uint32_t v = first; v < first + size; v++) { out->worker[v] = (uint16_t)w; }
        needed[w] -= size;
    }
}

static bool is_needed(const struct problem *p, const uint32_t *needed, uint32_t size)
{
    for (uint32_t w = 0; w < p->workers; w++) {
        if (needed[w] >= size) { return true; }
    }
    return false;
}

/* Every power of two at a multiple of itself is a node. The largest ones come first, so all that is
 * free for smaller ones consists of whole nodes, too. */
static void deal(const struct problem *p, const uint32_t *wanted, bool keeps,
                 struct assignment *out)
{
    uint32_t needed[WORKERS_MAX], size = 1;
    *out = p->before;
    for (uint32_t v = 0; v < out->slice_count && !keeps; v++) { out->worker[v] = NO_WORKER; }
    for (uint32_t w = 0; w < p->workers; w++) { needed[w] = wanted[w] - keeps * p->owned[w]; }
    while (size * 2 <= out->slice_count) { size *= 2; }
    for (; size > 0; size /= 2) {
        if (!is_needed(p, needed, size)) { continue; }
        for (uint32_t overlap = size; overlap > 0; overlap /= 2) {
            deal_nodes(p, size, overlap, needed, out);
        }
        deal_nodes(p, size, 0, needed, out);
    }
}

/* The best candidate; the one that moves less, if costs are equal. Returns its cost. */
static uint64_t best_candidate(const struct problem *p, struct assignment *out)
{
    uint64_t best_ns = UINT64_MAX;
    for (uint32_t i = 0; i < 2; i++) {
        const bool keeps = i == 0;
        for (uint32_t grain = 1; grain <= p->input->slices; grain *= 2) {
            uint32_t wanted[WORKERS_MAX];
            struct assignment candidate;
            if (!apportion(p, grain, keeps, wanted)) { continue; }
            deal(p, wanted, keeps, &candidate);
            const uint64_t ns = cost_ns(p, &candidate);
            if (ns >= best_ns) { continue; }
            best_ns = ns;
            *out = candidate;
        }
    }
    assert(best_ns != UINT64_MAX);
    return best_ns;
}

bool assign_slices(const struct assignment *before, const struct assign_input *input,
                   struct assignment *out)
{
    struct problem p;
    struct assignment best;
    assert(input->slices > 0 && input->slices <= SLICES_MAX);
    describe(&p, before, input);
    *out = p.before;
    if (p.ready == 0) {
        if (before->slice_count == input->slices) { *out = *before; }
        return false;
    }
    const bool settled = is_settled(&p);
    if (settled && !input->balances) { return false; }
    const uint64_t best_ns = best_candidate(&p, &best);
    if (settled) {
        const uint64_t now_ns = cost_ns(&p, &p.before);
        if (best_ns + now_ns / ASSIGN_GAIN >= now_ns) { return false; }
    }
    *out = best;
    return settled;
}

bool assign_has(const struct assignment *assignment, uint32_t worker)
{
    for (uint32_t v = 0; v < assignment->slice_count; v++) {
        if (assignment->worker[v] == worker) { return true; }
    }
    return false;
}

bool assign_equal(const struct assignment *a, const struct assignment *b)
{
    assert(a->slice_count <= SLICES_MAX && b->slice_count <= SLICES_MAX);
    if (a->generation != b->generation || a->slice_count != b->slice_count) { return false; }
    for (uint32_t v = 0; v < a->slice_count; v++) {
        if (a->worker[v] != b->worker[v]) { return false; }
    }
    return a->late_count == b->late_count &&
           memcmp(a->late, b->late, a->late_count * sizeof a->late[0]) == 0;
}
