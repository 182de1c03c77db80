#include "graph/next_fields.h"

#include <assert.h>
#include <stddef.h>

#include "graph/program.h"

void next_fields_fill(struct tn_program *program, bool (*fill)(void *user), void *user)
{
    assert(program != NULL && program->options.mode == TN_TRAIN);
    program->fill_next = fill;
    program->fill_user = user;
}

void next_fields_use(struct tn_program *program)
{
    assert(program != NULL);
    program->uses_next = true;
}
