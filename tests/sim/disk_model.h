/*
 * tests/sim/disk_model.h: the checkpoint folder of a cluster under virtual time, behind the port
 * that ps/store/store_port.h names. What is durable survives every process; what was being written
 * when its process died never was. Faults: full, failing, slow, bits that flip, shards that vanish.
 */
#ifndef SIM_DISK_MODEL_H
#define SIM_DISK_MODEL_H

#include "ps/store/store_port.h"
#include "tests/sim/world.h"

struct disk_model; /* One folder. */
struct disk_user;  /* One process's store. */

struct disk_config {
    uint32_t write_ms;         /* Usual duration; drawn between a half and the double of it. */
    uint32_t fail_per_mille;   /* Writes that end with TN_EIO or TN_ENOSPC. */
    uint32_t damage_per_mille; /* Finished shards in which a bit flips later. */
};

struct disk_model *disk_model_create(struct world *world, const struct disk_config *config);
void disk_model_free(struct disk_model *disk);
void disk_model_heal(struct disk_model *disk); /* No new faults; damage done stays. */
/* A bit flips in a random shard that exists; false when there is none. */
bool disk_model_damage(struct disk_model *disk, uint64_t chance);

/* Events go to `sink` from within the world's steps. */
struct disk_user *disk_user_open(struct disk_model *disk, store_sink sink, void *ctx);
struct store_port disk_user_port(struct disk_user *user);
void disk_user_kill(struct disk_user *user); /* Requests under way have no effect and no answer. */
void disk_user_freeze(struct disk_user *user, bool frozen);

/* For the checker: is shard `index` of the committed `manifest` there, durable, and undamaged?
 * Damage done by a fault is told apart: `*flipped`. */
bool disk_model_holds(const struct disk_model *disk, const struct manifest *manifest,
                      uint32_t index, bool *flipped);

/* The values of that shard, or NULL; and the highest epoch any manifest names. */
const float *disk_model_values(const struct disk_model *disk, const struct manifest *manifest,
                               uint32_t index);
uint64_t disk_model_highest_epoch(const struct disk_model *disk);
/* Is a shard being written? */
bool disk_model_writing(const struct disk_model *disk);

#endif
