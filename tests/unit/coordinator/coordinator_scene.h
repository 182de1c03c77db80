/* tests/unit/coordinator/coordinator_scene.h: a coordinator under test that is an active chief. Its
 * ports record its requests; the tests answer them. */
#ifndef TESTS_COORDINATOR_SCENE_H
#define TESTS_COORDINATOR_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "coordinator/coordinator_private.h"
#include "tests/unit/support/fake_ports.h"

static struct fake_ports fake;
static struct node_ports ports;
static struct coordinator c;

/* The chief of a cluster of this name, which has no /run yet. */
static inline void scene_begin(const char *cluster)
{
    static const struct chief_config config = {.ps = 1,
                                               .workers = 1,
                                               .min_workers = 1,
                                               .slices = 1,
                                               .steps = 10,
                                               .checkpoint_keep = 1,
                                               .manifest = {.parameter_count = 16}};
    memset(&fake, 0, sizeof fake);
    memset(&c, 0, sizeof c);
    ports = fake_node_ports(&fake, NULL);
    c.ports = &ports;
    c.retry_at_ms = UINT64_MAX;
    c.stage = LEADERSHIP_ACTIVE;
    c.now_ms = 1000;
    c.identity.incarnation = 1;
    snprintf(c.identity.cluster, sizeof c.identity.cluster, "%s", cluster);
    membership_init(&c.membership, &c.identity, &ports);
    election_init(&c.election, 1);
    c.election.epoch = 1;
    chief_init(&c.chief, &config);
}

/* An event of ZooKeeper arrives. */
static inline void scene_event(struct zk_event event)
{
    const struct node node = coordinator_node(&c);
    node.handle(node.self, &(struct node_event){.type = NODE_ZK, .now_ms = c.now_ms, .zk = &event});
}

/* A request is refused; of a write, its part `part`. */
static inline void scene_refuse(const struct fake_request *request, int32_t part,
                                enum zk_reason reason)
{
    assert_non_null(request);
    scene_event((struct zk_event){.type = ZK_RESULT,
                                  .op = request->op,
                                  .path = request->writes[0].path,
                                  .outcome = ZK_REFUSED,
                                  .reason = reason,
                                  .failed_write = part});
}

/* The newest request. */
static inline const struct fake_request *scene_newest(void)
{
    assert_true(fake.request_count > 0);
    return &fake.requests[fake.request_count - 1];
}

/* Time passes, and nothing else happens. */
static inline void scene_wait(uint64_t ms)
{
    const struct node node = coordinator_node(&c);
    c.now_ms += ms;
    node.handle(node.self, &(struct node_event){.type = NODE_TICK, .now_ms = c.now_ms});
}

/* The chief's last request for the children of a path that ends with `tail` is answered. */
static inline void scene_list(const char *tail, const char *const *names, size_t count)
{
    const struct fake_request *list = fake_last(&fake, 'l', tail);
    assert_non_null(list);
    scene_event((struct zk_event){.type = ZK_RESULT,
                                  .op = list->op,
                                  .path = list->writes[0].path,
                                  .children = names,
                                  .child_count = count});
}

/* The newest request is answered: it is done, and read this text. */
static inline void scene_answer(const char *text)
{
    scene_event((struct zk_event){.type = ZK_RESULT,
                                  .op = scene_newest()->op,
                                  .path = scene_newest()->writes[0].path,
                                  .data = text,
                                  .size = text != NULL ? strlen(text) : 0});
}

#endif
