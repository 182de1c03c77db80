/*
 * tests/sim/disk_model.h: a model of the checkpoint folder under virtual time, behind the port of
 * ps/store/store_port.h. Completed writes survive every process; a write in progress has no effect
 * when its process dies. Faults: the disk is full, fails or is slow; bits flip in a shard.
 */
#ifndef SIM_DISK_MODEL_H
#define SIM_DISK_MODEL_H

#include "ps/store/store_port.h"
#include "tests/sim/world.h"

struct disk_model; /* The folder. */
struct disk_user;  /* The store of one process. */

struct disk_config {
    uint32_t write_ms;         /* Duration of a hurried write: drawn from half to twice this. */
    uint32_t fail_per_mille;   /* Share of writes that fail with TN_EIO or TN_ENOSPC. */
    uint32_t damage_per_mille; /* Share of written shards in which a bit flips. */
};

struct disk_model *disk_model_create(struct world *world, const struct disk_config *config);
void disk_model_free(struct disk_model *disk);
void disk_model_heal(struct disk_model *disk); /* No new faults; damaged shards stay damaged. */
/* The shards of a ps are on a host that is away, or back again. */
void disk_model_away(struct disk_model *disk, uint32_t ps, bool away);
bool disk_model_is_away(const struct disk_model *disk);
/* Flips a bit in the shard selected by `chance`; false: there is no shard. */
bool disk_model_damage(struct disk_model *disk, uint64_t chance);

/* `sink` is called from world_step(). */
struct disk_user *disk_user_open(struct disk_model *disk, store_sink sink, void *ctx);
struct store_port disk_user_port(struct disk_user *user);
void disk_user_kill(struct disk_user *user); /* Requests in progress have no effect, no answer. */
void disk_user_freeze(struct disk_user *user, bool frozen);

/* For the checker: whether shard `index` of the committed `manifest` is stored undamaged.
 * `*flipped`: a fault has damaged it. */
bool disk_model_holds(const struct disk_model *disk, const struct manifest *manifest,
                      uint32_t index, bool *flipped);

/* The values of that shard, or NULL. */
const float *disk_model_values(const struct disk_model *disk, const struct manifest *manifest,
                               uint32_t index);
/* The numbers of a row in the files of checkpoint `id`; `*numbers` is NULL if it is in none. False:
 * the files are damaged, or gone. */
bool disk_model_find_row(const struct disk_model *disk, uint64_t id, uint32_t table, uint64_t key,
                         const float **numbers);
uint64_t disk_model_highest_epoch(const struct disk_model *disk);
/* The highest id of a checkpoint, committed or not; 0: none. */
uint64_t disk_model_highest_id(const struct disk_model *disk);
/* Whether a shard is being written. */
bool disk_model_writing(const struct disk_model *disk);

#endif
