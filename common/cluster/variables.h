/*
 * common/cluster/variables.h: the variables of a model, as one table that every node computes from
 * the job file. All parameters are one flat vector of floats: the variables one after another, each
 * row-major, without gaps. Each ps owns a range of it, its shard.
 *
 * Initial values are a pure function of (seed, variable, element), so that each ps initialises
 * its shard alone, whatever the number of ps, with bits that do not depend on libm.
 *
 * Threads: a table belongs to its owner; the functions have no state.
 */
#ifndef COMMON_CLUSTER_VARIABLES_H
#define COMMON_CLUSTER_VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/error.h"
#include "common/cluster/placement.h"
#include "common/cluster/task.h"

enum {
    VARIABLES_MAX = 4096,
    VARIABLE_NAME_MAX = 64,
    VARIABLE_RANK_MAX = 4,
    OPTIMIZER_NAME_MAX = 16,
    ROW_TABLES_MAX = 256 /* As TN_TABLES_MAX. */
};

enum variable_init {
    VARIABLE_ZEROS,
    VARIABLE_GLOROT_UNIFORM, /* Uniform in +-sqrt(6 / (fan_in + fan_out)); Glorot, Bengio 2010. */
    VARIABLE_HE_NORMAL,      /* Normal, deviation sqrt(2 / fan_in); He et al. 2015. */
    VARIABLE_ONES,
    VARIABLE_NORMAL,  /* Normal, deviation `scale`. */
    VARIABLE_UNIFORM, /* Uniform in +-`scale`. */
    VARIABLE_VALUES,  /* `values`. */
};

/* The way in which training changes a variable. */
enum variable_update {
    VARIABLE_OPTIMIZED, /* By an optimizer, from its gradient. */
    VARIABLE_AVERAGED,  /* A moving average of the values that slices emit in place of a gradient
                           (A13). */
    VARIABLE_FROZEN,    /* The variable is not trained. */
};

/* The last dimension of a shape is fan_out, the product of the others is fan_in. */
struct variable {
    char name[VARIABLE_NAME_MAX];
    uint32_t rank; /* 1 to VARIABLE_RANK_MAX. */
    uint32_t shape[VARIABLE_RANK_MAX];
    enum variable_init init;
    float scale; /* VARIABLE_NORMAL and VARIABLE_UNIFORM; else 0. */
    enum variable_update update;
    float momentum;       /* The part of an average that an update keeps; else 0. */
    bool no_weight_decay; /* Unless a rule of the job gives it one. */
    /* The name of its own optimizer, unless a rule of the job gives it one; "": the job's. */
    char optimizer[OPTIMIZER_NAME_MAX];
    uint32_t pinned;        /* By its device: the index of a ps + 1; 0: any. */
    uint32_t member;        /* The member of a group that reads it. */
    uint32_t number;        /* In the order of variable_table_add(): keys its initial values. */
    uint64_t offset, count; /* In the flat vector. */
    const float
        *values; /* VARIABLE_VALUES; they belong to the model. NULL: only the digest is known. */
    uint64_t values_digest; /* VARIABLE_VALUES; else 0. */
};

/* A table of rows by key: tn_table_create(). Its rows are not in the flat vector: each key belongs
 * to one ps (common/cluster/row_owner.h). */
struct row_table_shape {
    char name[VARIABLE_NAME_MAX];
    uint32_t width;
    uint64_t rows; /* Keys are hashed into this number of rows; 0: each key has its own. */
    float scale;   /* Initial values are uniform in [-scale, scale). */
    uint64_t keys; /* Keys of an example that all lookups read. */
};

/* The flat vector has the variables in the order of variable_table_add(), or in that of their ps,
 * by variables_place(). */
struct variable_table {
    uint32_t count;
    uint64_t parameter_count;
    uint64_t graph_hash;  /* The graph that has these variables: tn_graph_hash(); 0: unknown. */
    uint32_t shard_count; /* Set by variables_place(); 0: ranges for any number of ps. */
    uint64_t shard_first[PS_MAX + 1];         /* Shard i is [shard_first[i], shard_first[i + 1]). */
    struct variable variables[VARIABLES_MAX]; /* By offset. */
    uint32_t row_table_count;
    struct row_table_shape row_tables[ROW_TABLES_MAX]; /* In the canonical order of the graph. */
};

/*
 * Append a variable; start from a table of zeros. `name` is copied. A variable of one dimension has
 * no weight decay.
 *
 *   TN_EINVAL  empty, too long or repeated name; rank or a dimension out of range; table full; more
 *              than 2^40 parameters. The table is unchanged.
 */
MUST_CHECK enum tn_status variable_table_add(struct variable_table *table, const char *name,
                                             uint32_t rank, const uint32_t *shape,
                                             enum variable_init init, float scale,
                                             struct error *error);

/* XXH3-64 over names, shapes and initialisers: equal on all nodes of a job. */
uint64_t variable_table_hash(const struct variable_table *table);

/* The range of ps `index` of `ps_count`, which a placed table was placed for. */
struct placement variable_table_shard(const struct variable_table *table, uint32_t ps_count,
                                      uint32_t index);

/* The digest of `values`, a whole flat vector: over the variables in the order of
 * variable_table_add(), so that it does not depend on their placement. */
struct digest variable_table_digest(const struct variable_table *table, const float *values);

/* TN_EINVAL: some of `ps_count` ps would own nothing; the error names the largest number. */
MUST_CHECK enum tn_status variable_table_check_ps(const struct variable_table *table,
                                                  uint32_t ps_count, struct error *error);

/* Write the initial values of parameters [first, first+count) to out[0..count). The range must lie
 * in the table; of VARIABLE_VALUES the values must be known. */
void variables_init_range(const struct variable_table *table, uint64_t seed, uint64_t first,
                          uint64_t count, float *out);

#endif
