#include "common/cluster/variable_moves.h"

#include <assert.h>

#include "common/base/minmax.h"

/* One that continues the last one is a part of it. */
static uint32_t append(struct variable_move *list, uint32_t count, const struct variable_move *move)
{
    struct variable_move *last = count > 0 ? &list[count - 1] : NULL;
    if (last != NULL && last->from + last->count == move->from &&
        last->to + last->count == move->to) {
        last->count += move->count;
        return count;
    }
    list[count] = *move;
    return count + 1;
}

uint32_t variable_moves_between(const struct variable_table *from, const struct variable_table *to,
                                struct variable_move out[static VARIABLES_MAX])
{
    uint64_t places[VARIABLES_MAX];
    uint32_t count = 0;
    assert(from->count == to->count);
    assert(from->parameter_count == to->parameter_count);
    for (uint32_t i = 0; i < to->count; i++) {
        places[to->variables[i].number] = to->variables[i].offset;
    }
    for (uint32_t i = 0; i < from->count; i++) {
        const struct variable *variable = &from->variables[i];
        const struct variable_move move = {
            .from = variable->offset, .to = places[variable->number], .count = variable->count};
        count = append(out, count, &move);
    }
    return count;
}

uint32_t variable_moves_clip(const struct variable_moves *moves, uint64_t first, uint64_t count,
                             struct variable_move *out)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < moves->count; i++) {
        const struct variable_move *move = &moves->list[i];
        const uint64_t low = u64_max(move->to, first);
        const uint64_t high = u64_min(move->to + move->count, first + count);
        if (low >= high) { continue; }
        out[kept++] = (struct variable_move){
            .from = move->from + (low - move->to), .to = low - first, .count = high - low};
    }
    return kept;
}

uint32_t variable_moves_find(const struct variable_moves *moves, uint64_t from)
{
    uint32_t low = 0, high = moves->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (moves->list[middle].from + moves->list[middle].count > from) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

bool variable_move_cut(const struct variable_move *move, uint64_t first, uint64_t last,
                       struct variable_move *out)
{
    const uint64_t low = u64_max(move->from, first);
    const uint64_t high = u64_min(move->from + move->count, last);
    if (low >= high) { return false; }
    *out = (struct variable_move){
        .from = low, .to = move->to + (low - move->from), .count = high - low};
    return true;
}
