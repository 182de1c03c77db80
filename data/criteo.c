#include "data/criteo.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_codec.h"
#include "common/base/minmax.h"
#include "common/base/random.h"
#include "common/base/real_rules.h"
#include "data/formats/formats.h"
#include "kernels/optimizer/real.h"
#include "model/metrics/area.h"

/* Random streams. Test rows use the next stream of the first three; each category has streams of
 * its own of the last two. */
#define STREAM_CLICKS  UINT64_C(0x637469636b0000)
#define STREAM_NUMBERS UINT64_C(0x63746e756d0000)
#define STREAM_RANKS   UINT64_C(0x637472616e0000)
#define STREAM_SLOPES  UINT64_C(0x6374736c6f0000)
#define STREAM_WEIGHTS UINT64_C(0x63747765690000)
#define STREAM_FACTORS UINT64_C(0x63746661630000)

/* The hidden model: about one row in three is a click, and the deviation of the logit is about
 * 1.5. */
#define CONSTANT      (-1.8)
#define WEIGHT_SCALE  0.25
#define SLOPE_SCALE   0.15
#define PRODUCT_SCALE 0.3

#define TEXT_BITS   40 /* Bits of a value as a text. */
#define VALUES_MOST (UINT64_C(1) << 36)

enum { CLICK, NUMBERS, CATEGORIES = NUMBERS + CRITEO_NUMBERS };
enum { COLUMNS = CATEGORIES + CRITEO_CATEGORIES, TEXT_DIGITS = TEXT_BITS / 4, PAIRS = 4 };

/* Number of values of each category in the data of the contest. */
static const uint32_t real_values[CRITEO_CATEGORIES] = {
    1460, 583,   10131227, 2202608, 305,  24,   12517, 633,     3,  93145, 5683,   8351593, 3194,
    27,   14992, 5461306,  10,      5652, 2173, 4,     7046547, 18, 15,    286181, 105,     142572,
};
#define REAL_VALUES_MOST 10131227

struct criteo {
    struct random_stream click_stream, number_stream, rank_stream;
    struct random_stream weight_streams[CRITEO_CATEGORIES], factor_streams[2 * PAIRS];
    uint64_t values[CRITEO_CATEGORIES];
    double logs[CRITEO_CATEGORIES]; /* log(values + 1) */
    double slopes[CRITEO_NUMBERS];
};

/* A row and its hidden logit. */
struct draw {
    uint64_t ranks[CRITEO_CATEGORIES];
    double numbers[CRITEO_NUMBERS];
    double logit;
    bool click;
};

/* ------------------------------------------------------------ the hidden model */

static double normal(struct random_stream stream, uint64_t index)
{
    return (double)random_stream_normal_at(stream, index);
}

static void draw_ranks(const struct criteo *criteo, uint64_t i,
                       uint64_t ranks[static CRITEO_CATEGORIES])
{
    double numbers[CRITEO_CATEGORIES];
    for (uint32_t c = 0; c < CRITEO_CATEGORIES; c++) {
        const uint64_t bits = random_stream_at(criteo->rank_stream, i * CRITEO_CATEGORIES + c);
        numbers[c] = (double)(bits >> 11) * 0x1p-53 * criteo->logs[c];
    }
    /* A loop of its own vectorises. */
    for (uint32_t c = 0; c < CRITEO_CATEGORIES; c++) { numbers[c] = real_exp_rule(numbers[c]); }
    for (uint32_t c = 0; c < CRITEO_CATEGORIES; c++) {
        ranks[c] = u64_min((uint64_t)double_max(numbers[c] - 1, 0), criteo->values[c] - 1);
    }
}

static double logit_of(const struct criteo *criteo, const struct draw *draw)
{
    double logit = CONSTANT;
    for (uint32_t c = 0; c < CRITEO_CATEGORIES; c++) {
        logit += WEIGHT_SCALE * normal(criteo->weight_streams[c], draw->ranks[c]);
    }
    for (uint32_t k = 0; k < CRITEO_NUMBERS; k++) { logit += criteo->slopes[k] * draw->numbers[k]; }
    for (uint32_t c = 0; c < 2 * PAIRS; c += 2) {
        logit += PRODUCT_SCALE * (normal(criteo->factor_streams[c], draw->ranks[c]) *
                                  normal(criteo->factor_streams[c + 1], draw->ranks[c + 1]));
    }
    return logit;
}

static struct draw draw_row(const struct criteo *criteo, uint64_t i)
{
    struct draw draw;
    draw_ranks(criteo, i, draw.ranks);
    for (uint32_t k = 0; k < CRITEO_NUMBERS; k++) {
        draw.numbers[k] = normal(criteo->number_stream, i * CRITEO_NUMBERS + k);
    }
    draw.logit = logit_of(criteo, &draw);
    const double chance = 1 / (1 + real_exp(-draw.logit));
    draw.click = (double)random_stream_unit_at(criteo->click_stream, i) < chance;
    return draw;
}

/* ------------------------------------------------------------------- the source */

/* Distinct texts for distinct ranks: the product with an odd number is a permutation. */
static void write_text(uint32_t category, uint64_t rank, uint8_t out[static TEXT_DIGITS])
{
    const uint64_t mask = (UINT64_C(1) << TEXT_BITS) - 1;
    const uint64_t bits = (rank + category + 1) * UINT64_C(0x9e3779b97f4a7c15) & mask;
    for (uint32_t d = 0; d < TEXT_DIGITS; d++) {
        out[d] = (uint8_t) "0123456789abcdef"[bits >> (TEXT_BITS - 4 - 4 * d) & 15];
    }
}

static enum tn_status read_row(const struct source *source, uint64_t i, struct source_row *row,
                               struct error *error)
{
    const struct criteo *criteo = source->state;
    uint8_t *texts = source_row_take(row, CRITEO_CATEGORIES * TEXT_DIGITS);
    if (texts == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a row"); }
    const struct draw draw = draw_row(criteo, i);
    row->cells[CLICK].number = draw.click;
    for (uint32_t k = 0; k < CRITEO_NUMBERS; k++) {
        row->cells[NUMBERS + k].number = draw.numbers[k];
    }
    for (uint32_t c = 0; c < CRITEO_CATEGORIES; c++) {
        uint8_t *text = texts + (size_t)c * TEXT_DIGITS;
        write_text(c, draw.ranks[c], text);
        row->cells[CATEGORIES + c].bytes = text;
        row->cells[CATEGORIES + c].size = TEXT_DIGITS;
    }
    return TN_OK;
}

static void locate(const struct source *source, uint64_t i, uint32_t column,
                   char place[static SOURCE_PLACE_MAX])
{
    snprintf(place, SOURCE_PLACE_MAX, "data.type 'criteo-like', row %" PRIu64 ", column '%s'", i,
             source->columns[column].name);
}

static void close_criteo(struct source *source)
{
    free(source->state);
    source->state = NULL;
}

static const struct source_type type = {
    .name = "criteo-like",
    .contents = "rows drawn from a hidden model",
    .version = 1,
    .read = read_row,
    .locate = locate,
    .close = close_criteo,
};

/* ---------------------------------------------------------------------- opening */

static void set_columns(struct source_column *columns)
{
    columns[CLICK] = (struct source_column){.name = "click", .kind = SOURCE_NUMBER};
    for (uint32_t k = 0; k < CRITEO_NUMBERS; k++) {
        columns[NUMBERS + k].kind = SOURCE_NUMBER;
        snprintf(columns[NUMBERS + k].name, SOURCE_NAME_MAX, "I%" PRIu32, k + 1);
    }
    for (uint32_t c = 0; c < CRITEO_CATEGORIES; c++) {
        columns[CATEGORIES + c].kind = SOURCE_TEXT;
        snprintf(columns[CATEGORIES + c].name, SOURCE_NAME_MAX, "C%" PRIu32, c + 1);
    }
}

static enum tn_status read_options(const char *text, uint64_t *values, struct error *error)
{
    struct options {
        uint64_t values;
    } options = {.values = REAL_VALUES_MOST};
    static const struct json_field fields[] = {
        {.name = "values",
         .type = FIELD_UINT,
         JSON_MEMBER(struct options, values),
         .least = 2,
         .most = (double)VALUES_MOST},
    };
    static const struct json_table table = {
        JSON_FIELDS(fields),
        .rules = JSON_UNKNOWN_REFUSED,
        .status = TN_EINVAL,
    };
    enum tn_status status = formats_read_options(text, &table, &options, error);
    *values = options.values;
    return status;
}

static void set_streams(struct criteo *criteo, uint64_t seed, bool test)
{
    criteo->click_stream = random_stream_of(seed, STREAM_CLICKS + test);
    criteo->number_stream = random_stream_of(seed, STREAM_NUMBERS + test);
    criteo->rank_stream = random_stream_of(seed, STREAM_RANKS + test);
    for (uint32_t c = 0; c < CRITEO_CATEGORIES; c++) {
        criteo->weight_streams[c] = random_stream_of(seed, STREAM_WEIGHTS + c);
    }
    for (uint32_t c = 0; c < 2 * PAIRS; c++) {
        criteo->factor_streams[c] = random_stream_of(seed, STREAM_FACTORS + c);
    }
}

static void set_model(struct criteo *criteo, uint64_t seed, uint64_t most)
{
    const double factor = double_max(1, (double)most / REAL_VALUES_MOST);
    for (uint32_t c = 0; c < CRITEO_CATEGORIES; c++) {
        criteo->values[c] = u64_min((uint64_t)(real_values[c] * factor), most);
        criteo->logs[c] = real_log((double)(criteo->values[c] + 1));
    }
    for (uint32_t k = 0; k < CRITEO_NUMBERS; k++) {
        criteo->slopes[k] = SLOPE_SCALE * normal(random_stream_of(seed, STREAM_SLOPES), k);
    }
}

static struct digest digest_of_rows(const struct criteo_config *config, uint64_t most)
{
    struct digest_stream stream;
    const uint64_t numbers[] = {type.version, config->seed, config->rows, config->test, most};
    digest_begin(&stream);
    digest_add(&stream, type.name, strlen(type.name) + 1);
    digest_add(&stream, numbers, sizeof numbers);
    return digest_end(&stream);
}

enum tn_status criteo_open(const struct criteo_config *config, struct source *out,
                           struct error *error)
{
    uint64_t most;
    assert(config->rows >= 1 && config->rows <= SOURCE_ROWS_MAX);
    *out = (struct source){0};
    enum tn_status status = read_options(config->options, &most, error);
    if (status != TN_OK) { return status; }
    struct criteo *criteo = calloc(1, sizeof *criteo);
    struct source_column *columns = calloc(COLUMNS, sizeof *columns);
    if (criteo == NULL || columns == NULL) {
        free(criteo);
        free(columns);
        return error_set(error, TN_ENOMEM, "out of memory for data");
    }
    set_streams(criteo, config->seed, config->test);
    set_model(criteo, config->seed, most);
    set_columns(columns);
    *out = (struct source){
        .type = &type,
        .count = config->rows,
        .column_count = COLUMNS,
        .columns = columns,
        .digest = digest_of_rows(config, most),
        .state = criteo,
    };
    return TN_OK;
}

/* -------------------------------------------------------------------- questions */

bool criteo_is_source(const struct source *source)
{
    return source->type == &type;
}

void criteo_values(const struct source *source, uint64_t out[static CRITEO_CATEGORIES])
{
    const struct criteo *criteo = source->state;
    assert(criteo_is_source(source));
    memcpy(out, criteo->values, sizeof criteo->values);
}

double criteo_best_area(const struct source *source)
{
    assert(criteo_is_source(source));
    struct area_score *scores = malloc(source->count * sizeof *scores);
    if (scores == NULL) { return (double)NAN; }
    for (uint64_t i = 0; i < source->count; i++) {
        const struct draw draw = draw_row(source->state, i);
        scores[i] = (struct area_score){.score = (float)draw.logit, .positive = draw.click};
    }
    const double area = area_under_curve(scores, source->count);
    free(scores);
    return area;
}
