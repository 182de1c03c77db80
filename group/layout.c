#include "group/layout.h"

#include <assert.h>
#include <string.h>

#include "common/job/strategy.h"

void group_layout_set(struct group_layout *layout, const struct job *job,
                      const struct variable_table *table, uint32_t member)
{
    assert(member < strategy_members(job) && table->shard_count == job->cluster.ps);
    *layout = (struct group_layout){.ps = job->cluster.ps};
    for (uint32_t p = 0; p < layout->ps; p++) {
        if (strategy_member_of_ps(job, p) != member) { continue; }
        const uint64_t count = variable_table_shard(table, layout->ps, p).count;
        layout->owns[p] = true;
        layout->places[p] = (struct placement){.first = layout->floats, .count = count};
        layout->floats += count;
    }
}

static const struct variable *find_variable(const struct variable_table *table, const char *name)
{
    uint32_t i = 0;
    while (strcmp(table->variables[i].name, name) != 0) {
        i++;
        assert(i < table->count);
    }
    return &table->variables[i];
}

static uint32_t ps_of(const struct variable_table *table, const struct variable *variable)
{
    uint32_t ps = 0;
    while (variable->offset >= table->shard_first[ps + 1]) { ps++; }
    assert(ps < table->shard_count);
    return ps;
}

void group_layout_apply(const struct group_layout *layout, const struct variable_table *table,
                        uint32_t member, struct training_cut *cut)
{
    assert(cut->floats[member] == layout->floats);
    for (uint32_t i = 0; i < cut->variable_count; i++) {
        struct cut_variable *own = &cut->variables[i];
        if (own->task != member) { continue; }
        const struct variable *variable = find_variable(table, own->name);
        const uint32_t ps = ps_of(table, variable);
        assert(layout->owns[ps]);
        own->task_offset = layout->places[ps].first + (variable->offset - table->shard_first[ps]);
    }
}
