#include "common/cluster/change_request.h"

#include <assert.h>
#include <stddef.h>

#include "common/base/json_codec.h"
#include "common/base/text.h"
#include "common/cluster/row_borders.h"
#include "common/cluster/znode_codec.h"

static const char *const state_names[CHANGE_STATES + 1] = {
    [CHANGE_WANTED] = "wanted", [CHANGE_ACCEPTED] = "accepted", [CHANGE_APPLIED] = "applied",
    [CHANGE_DONE] = "done",     [CHANGE_REFUSED] = "refused",
};

static const char *const strategy_names[] = {"keep", "ps", "mirror", "group", NULL};

#define AT(member) JSON_MEMBER(struct change_request, member)
static const struct json_field fields[] = {
    {.name = "version", .type = FIELD_OTHER},
    {"state", FIELD_ENUM, AT(state), .names = state_names},
    {"strategy", FIELD_ENUM, AT(strategy), .names = strategy_names, .optional = true},
    {"ps", FIELD_UINT, AT(ps), .most = PS_MAX},
    {"buckets", FIELD_CUSTOM, AT(rows), .converter = &row_borders_converter, .optional = true},
    {"members", FIELD_UINT, AT(members), .most = WORKERS_MAX, .optional = true},
    {"workers", FIELD_UINT, AT(workers), .most = WORKERS_MAX, .optional = true},
    {"at_ms", FIELD_UINT, AT(wall_ms)},
    {"by", FIELD_TEXT, AT(by)},
    {"agent", FIELD_HEX, AT(agent)},
    {"step", FIELD_UINT, AT(step)},
    {"paused_ms", FIELD_UINT, AT(paused_ms)},
    {"steps_redone", FIELD_UINT, AT(steps_redone)},
    {"invalid", FIELD_BOOL, AT(invalid)},
    {"text", FIELD_TEXT, AT(text)},
};
#undef AT
static const struct json_table table = {
    JSON_FIELDS(fields),
    .rules = JSON_ALL_REQUIRED | JSON_PLAIN_TEXTS,
    .status = TN_ECORRUPT,
};

const char *change_state_name(enum change_state state)
{
    assert(state < CHANGE_STATES);
    return state_names[state];
}

static void add_number(struct text *text, const char *key, uint32_t number)
{
    if (number == 0) { return; } /* It stays as it is. */
    if (text->used > 0) { text_add(text, " --set "); }
    text_add(text, key);
    text_add_number(text, number);
}

const char *change_setting(const struct change_request *request,
                           char setting[static CHANGE_SETTING_MAX])
{
    static const char *const types[] = {
        [CHANGE_BY_PS] = "",
        [CHANGE_TO_PS] = "strategy.type=ps",
        [CHANGE_TO_MIRROR] = "strategy.type=mirror",
        [CHANGE_TO_GROUP] = "strategy.type=group",
    };
    struct text text = text_begin(setting, CHANGE_SETTING_MAX);
    assert(request->strategy < sizeof types / sizeof types[0]);
    if (request->workers > 0) {
        add_number(&text, "cluster.workers=", request->workers);
        return setting;
    }
    text_add(&text, types[request->strategy]);
    if (request->strategy != CHANGE_TO_MIRROR) { add_number(&text, "cluster.ps=", request->ps); }
    if (request->strategy == CHANGE_TO_GROUP) {
        add_number(&text, "strategy.members=", request->members);
    }
    return setting;
}

void change_request_path(char path[static ZK_PATH_MAX], const char *cluster)
{
    znode_path(path, cluster, "change");
}

size_t change_request_encode(const struct change_request *request, char text[static ZNODE_JSON_MAX])
{
    return znode_encode(&table, request, text);
}

enum tn_status change_request_decode(const void *data, size_t size, struct change_request *out,
                                     struct error *error)
{
    *out = (struct change_request){0};
    return znode_decode(&table, "/change", data, size, out, error);
}
