/*
 * agent/observe/step_poller.h: asks each holder of values (each ps, or without ps each worker) for
 * its step. The question is a pull of a generation that does not exist: the holder refuses it with
 * a frame that has its own generation and step. Also asks for the training losses of the steps that
 * a holder has applied, and each ps for the statistics of its tables and the loads of its buckets.
 *
 * Threads: the owner's; answers arrive on the transport's threads. Only step_poller_close() blocks.
 */
#ifndef AGENT_OBSERVE_STEP_POLLER_H
#define AGENT_OBSERVE_STEP_POLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/observe/observer.h"
#include "common/base/error.h"
#include "common/cluster/row_loads.h"
#include "common/cluster/table_stats.h"
#include "common/cluster/task.h"
#include "common/net/wire.h"

struct step_poller;

/* `cluster_key` is the key in /spec. TN_ENOMEM, or an error of transport_open(). */
MUST_CHECK enum tn_status step_poller_open(uint64_t cluster_key, struct step_poller **out,
                                           struct error *error);
void step_poller_close(struct step_poller *poller); /* NULL is allowed. */

/* Ask holder `index`, of this incarnation, at `address`. Connects if needed. */
void step_poller_ask(struct step_poller *poller, uint32_t index, const char *address,
                     uint64_t incarnation);

/* Ask every holder that `observer` sees. */
void step_poller_ask_all(struct step_poller *poller, const struct observer *observer);

/* The step that the whole cluster has reached: the lowest step in the last answers of all ps, or
 * without ps the highest step of a worker that has /run's generation; the step of the last
 * evaluation if that is higher, since the holders may have been asked before it.
 * False: a ps has not answered yet, or has another generation than /run; or all workers have. */
bool step_poller_reached(struct step_poller *poller, const struct observer *observer,
                         uint64_t *step);

/* The last answer of holder `index`; false: none yet. */
bool step_poller_get(struct step_poller *poller, uint32_t index, uint64_t *generation,
                     uint64_t *step);

/* The connections of holder `index` with workers, as of its last answer: through shared memory, and
 * over TCP. */
void step_poller_lanes(struct step_poller *poller, uint32_t index, uint32_t *shm, uint32_t *tcp);

/* The number of holders below `count` that have answered since they were asked last, or whose
 * connection has ended since then, so that they will not answer. */
uint32_t step_poller_settled(struct step_poller *poller, uint32_t count);

/* Ask every ps to which there is a connection for the statistics of its tables. */
void step_poller_ask_tables(struct step_poller *poller);

/* The last answer of ps `index`, if it is of `generation`: the statistics of its tables, to `out`.
 * False: there is none. `source->count`: their number, 0 if the model has no tables. */
bool step_poller_get_tables(struct step_poller *poller, uint32_t index, uint64_t generation,
                            struct table_stats out[static ROW_TABLES_MAX],
                            struct table_source *source);

/* The same of ps that were asked for their tables. */
uint32_t step_poller_settled_tables(struct step_poller *poller, uint32_t count);

/* Ask every ps to which there is a connection for the loads of its buckets of rows. */
void step_poller_ask_buckets(struct step_poller *poller);

/* The loads of the buckets of ps `index`, if it has answered since it was asked, and is of
 * `generation`. `count` 0: the model has no tables. */
bool step_poller_get_buckets(struct step_poller *poller, uint32_t index, uint64_t generation,
                             struct row_loads *out);

/* Ask every holder to which there is a connection for the losses of the steps from `from` on. With
 * `all`, each is asked again until its answer is empty: training has ended. */
void step_poller_ask_losses(struct step_poller *poller, uint64_t from, bool all);

/* The losses of `generation` from step `*from` on that one of the holders has sent, to `out`. If
 * all `holder_count` holders have answered and none has that step, `*from` moves to the first that
 * one has. Returns their number; `*at_ms`: when they arrived. */
uint32_t step_poller_get_losses(struct step_poller *poller, uint32_t holder_count,
                                uint64_t generation, uint64_t *from, double out[static LOSSES_MAX],
                                uint64_t *at_ms);

#endif
