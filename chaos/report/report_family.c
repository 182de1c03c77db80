/* chaos/report/report_family.c: faults of a family have one colour and one icon. */
#include <assert.h>

#include "chaos/plan/fault.h"
#include "chaos/report/report_private.h"

static const struct report_family families[FAMILY_COUNT] = {
    [FAMILY_PROCESS] = {"process", "process killed", "<path d=\"M2 2l8 8M10 2l-8 8\"/>"},
    [FAMILY_FREEZE] = {"freeze", "process frozen", "<path d=\"M3.5 1.5v9M8.5 1.5v9\"/>"},
    [FAMILY_ZOOKEEPER] = {"zookeeper", "ZooKeeper", "<path d=\"M6 1.5L11 10.5H1z\"/>"},
    [FAMILY_NETWORK] = {"network", "network", "<path d=\"M0.5 6H4M8 6h3.5M7.5 1.5l-3 9\"/>"},
    [FAMILY_DISK] = {"disk", "disk and files",
                     "<path d=\"M2 3c0-2.2 8-2.2 8 0v6c0 2.2-8 2.2-8 0zM2 3c0 2.2 8 2.2 8 0\"/>"},
    [FAMILY_LIMITS] = {"limits", "limits and clock",
                       "<circle cx=\"6\" cy=\"6\" r=\"4.7\"/><path d=\"M6 3v3l2.2 1.5\"/>"},
    [FAMILY_OPERATOR] = {"operator", "operator", "<path d=\"M6 1l5 5-5 5-5-5z\"/>"},
    [FAMILY_FAILPOINT] =
        {"point", "at a failpoint",
         "<circle cx=\"6\" cy=\"6\" r=\"4.7\"/><circle cx=\"6\" cy=\"6\" r=\"1.2\"/>"},
    [FAMILY_GPU] = {"gpu", "GPU",
                    "<path d=\"M2.5 2.5h7v7h-7zM0.5 4.5h2M0.5 7.5h2M9.5 4.5h2M9.5 7.5h2\"/>"},
};

const struct report_family *report_family_of(const char *fault)
{
    assert(fault != NULL);
    const struct fault_descriptor *descriptor = fault_find(fault);
    return &families[descriptor != NULL ? descriptor->family : FAMILY_OPERATOR];
}

const struct report_family *report_family_at(size_t index)
{
    return index < FAMILY_COUNT ? &families[index] : NULL;
}

void report_family_icon(struct markup *out, const struct report_family *family)
{
    assert(family != NULL);
    markup_format(out, "<svg class=\"icon\" viewBox=\"0 0 12 12\"><use href=\"#s-%s\"/></svg>",
                  family->name);
}
