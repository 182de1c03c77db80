#include "chaos/inject/nft_script.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/base/log.h"

__attribute__((format(printf, 2, 0))) static void append(struct nft_script *script,
                                                         const char *format, va_list arguments)
{
    assert(script->length < sizeof script->text);
    size_t room = sizeof script->text - script->length;
    int length = vsnprintf(script->text + script->length, room, format, arguments);
    if (length >= 0 && (size_t)length + 1 < room) {
        script->length += (size_t)length;
        script->text[script->length++] = '\n';
        script->text[script->length] = '\0';
    } else {
        script->cut_off = true;
    }
}

void nft_rule(struct nft_script *script, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(script, format, arguments);
    va_end(arguments);
}

void nft_script_begin(struct nft_script *script, uint32_t id)
{
    script->length = 0;
    script->in_chain = script->cut_off = false;
    /* Delete a table that an earlier round left behind; "add" makes sure that there is one. */
    nft_rule(script, "add table ip chaos_%u", id);
    nft_rule(script, "delete table ip chaos_%u", id);
    nft_rule(script, "table ip chaos_%u {", id);
}

static void begin_chain(struct nft_script *script, const char *type, const char *hook, int priority)
{
    assert(script->length > 0);
    if (script->in_chain) { nft_rule(script, "}"); }
    script->in_chain = true;
    nft_rule(script, "chain %s_%s_%d {", type, hook, priority < 0 ? -priority : priority);
    nft_rule(script, "type %s hook %s priority %d", type, hook, priority);
}

void nft_chain(struct nft_script *script, const char *hook, int priority)
{
    begin_chain(script, "filter", hook, priority);
}

void nft_chain_redirect(struct nft_script *script, const char *hook)
{
    begin_chain(script, "nat", hook, -100);
}

void nft_mark_new_connections(struct nft_script *script, uint32_t mark)
{
    static const char *const hooks[] = {"prerouting", "output"};
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        nft_chain(script, hooks[i], NFT_PRIORITY_MARK);
        /* Its SYN is the sign: a connection that is older than all rules is new to the tracker. */
        nft_rule(script, "tcp flags & (syn | ack) == syn ct mark < %u ct mark set %u", mark, mark);
    }
}

uint32_t nft_new_mark(void)
{
    static uint32_t last = 0;
    return ++last;
}

void nft_reset_rules(struct nft_script *script, const char *matching)
{
    static const char *const hooks[] = {"input", "output"};
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        nft_chain(script, hooks[i], NFT_PRIORITY_FILTER);
        /* The resets that the next rule sends must pass. */
        nft_rule(script, "tcp flags & rst != 0 accept");
        nft_rule(script, "meta l4proto tcp %s reject with tcp reset", matching);
    }
}

enum tn_status nft_script_apply(struct nft_script *script, struct lab *lab, const char *component,
                                struct error *error)
{
    if (script->in_chain) { nft_rule(script, "}"); }
    nft_rule(script, "}");
    assert(!script->cut_off);
    return lab_nft(lab, component, script->text, error);
}

void nft_remove(struct lab *lab, const char *component, uint32_t id)
{
    char text[64];
    struct error error;
    snprintf(text, sizeof text, "delete table ip chaos_%u\n", id);
    if (lab_nft(lab, component, text, &error) != TN_OK) {
        log_warn("cannot undo a fault of %s: %s", component, error.text);
    }
}
