#include "common/cluster/inputs.h"

#include <assert.h>
#include <stddef.h>

#include "common/base/text.h"

bool inputs_have_data(const struct inputs *inputs)
{
    assert(inputs != NULL);
    return inputs->data[0] != 0 || inputs->data[1] != 0;
}

bool inputs_data_agree(const struct inputs *run, const struct inputs *node)
{
    if (!inputs_have_data(run) || !inputs_have_data(node)) { return true; }
    return run->data[0] == node->data[0] && run->data[1] == node->data[1];
}

bool inputs_fingerprints_agree(const struct inputs *run, const struct inputs *node)
{
    assert(run != NULL && node != NULL);
    if (run->fingerprint[0] == '\0' || node->fingerprint[0] == '\0') { return true; }
    return text_equal(run->fingerprint, node->fingerprint);
}

bool inputs_agree(const struct inputs *run, const struct inputs *node, bool same_bits)
{
    return inputs_data_agree(run, node) && (!same_bits || inputs_fingerprints_agree(run, node));
}
