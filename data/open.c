#include "data/open.h"

#include <assert.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/nearest.h"
#include "data/formats/formats.h"
#include "data/source/stored_file.h"

static const struct source_type *const types[] = {
    &csv_type,      &tsv_type,    &npy_type, &npy_folder_type, &npz_type,
    &tfrecord_type, &images_type, &tar_type, &libsvm_type,     &library_type,
};

/* The first type of this name; one for folders may follow. NULL: the format is unknown. */
static const struct source_type *find_type(const char *name)
{
    assert(name != NULL);
    for (uint32_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i]->name, name) == 0) { return types[i]; }
    }
    return NULL;
}

/* -------------------------------------------------------- many parts as one */

struct part {
    struct source source;
    struct source_file file;
    uint64_t first; /* The number of its first row. */
};

struct parts {
    uint32_t count;
    struct part at[];
};

/* The part that has row `i`. */
static const struct part *part_of(const struct source *source, uint64_t i)
{
    const struct parts *parts = source->state;
    uint32_t low = 0, high = parts->count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (parts->at[middle].first <= i) {
            low = middle;
        } else {
            high = middle;
        }
    }
    assert(i - parts->at[low].first < parts->at[low].source.count);
    return &parts->at[low];
}

static enum tn_status read_part(const struct source *source, uint64_t i, struct source_row *row,
                                struct error *error)
{
    const struct part *part = part_of(source, i);
    return part->source.type->read(&part->source, i - part->first, row, error);
}

static void locate_part(const struct source *source, uint64_t i, uint32_t column,
                        char place[static SOURCE_PLACE_MAX])
{
    const struct part *part = part_of(source, i);
    source_locate(&part->source, i - part->first, column, place);
}

static void close_parts(struct source *source)
{
    struct parts *parts = source->state;
    for (uint32_t i = 0; i < parts->count; i++) {
        source_close(&parts->at[i].source);
        source_file_close(&parts->at[i].file);
    }
    free(parts);
}

static const struct source_type parts_type = {
    .name = "parts",
    .read = read_part,
    .locate = locate_part,
    .close = close_parts,
};

/* ---------------------------------------------------------------- opening */

/* The type of this name for what `path` is, a file or a folder; NULL: there is none. */
static const struct source_type *type_for(const char *name, const char *path)
{
    struct stat about;
    const bool folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    for (uint32_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i]->name, name) == 0 && types[i]->folders == folder) { return types[i]; }
    }
    return NULL;
}

/* A type for files may have set the digest of all else that its rows depend on. */
static void add_digest(struct source *source, struct digest file)
{
    const struct digest both[] = {source->digest, file};
    const bool alone = digest_equal(source->digest, (struct digest){0});
    source->digest = alone ? file : digest_of(both, sizeof both);
}

static enum tn_status open_input(const char *path, const struct source_config *config,
                                 struct part *part, struct error *error)
{
    const struct source_type *type = type_for(config->format, path);
    if (type == NULL) {
        return error_set(error, TN_EINVAL, "%s: the format '%s' is not for a %s", path,
                         config->format, find_type(config->format)->folders ? "file" : "folder");
    }
    struct digest digest = {0};
    struct source_input input = {.path = path, .options = config->options};
    if (!type->folders) {
        enum tn_status status = stored_file_open(path, &part->file, &digest, error);
        if (status != TN_OK) { return status; }
        input.bytes = part->file.bytes;
        input.size = part->file.size;
    }
    enum tn_status status = type->open(&input, &part->source, error);
    if (status != TN_OK) {
        source_file_close(&part->file);
        return status;
    }
    part->source.type = type;
    if (!type->folders) { add_digest(&part->source, digest); }
    return TN_OK;
}

static bool same_column(const struct source_column *a, const struct source_column *b)
{
    return strcmp(a->name, b->name) == 0 && a->kind == b->kind && a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

/* All parts have the columns of the first one, in the same order. */
static enum tn_status check_columns(const struct source *first, const struct source *part,
                                    const char *first_path, const char *path, struct error *error)
{
    for (uint32_t c = 0; c < first->column_count && c < part->column_count; c++) {
        if (same_column(&first->columns[c], &part->columns[c])) { continue; }
        return error_set(error, TN_EINVAL,
                         "%s: column %u is '%s', but in %s it is '%s', or has another shape: all "
                         "files must have the same columns in the same order",
                         path, c + 1, part->columns[c].name, first_path, first->columns[c].name);
    }
    if (first->column_count == part->column_count) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "%s has %u columns, but %s has %u: all files must have the same columns", path,
                     part->column_count, first_path, first->column_count);
}

static enum tn_status open_parts(const struct source_config *config, const glob_t *paths,
                                 struct parts *parts, struct error *error)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < paths->gl_pathc; i++) {
        struct part *part = &parts->at[i];
        enum tn_status status = open_input(paths->gl_pathv[i], config, part, error);
        if (status != TN_OK) { return status; }
        parts->count++;
        part->first = rows;
        rows += part->source.count;
        if (part->source.count > SOURCE_ROWS_MAX || rows > SOURCE_ROWS_MAX) {
            return error_set(error, TN_EINVAL, "%s: over 2^48 rows are not read", config->pattern);
        }
        status = check_columns(&parts->at[0].source, &part->source, paths->gl_pathv[0],
                               paths->gl_pathv[i], error);
        if (status != TN_OK) { return status; }
        if (part->source.classes != parts->at[0].source.classes) {
            return error_set(error, TN_EINVAL,
                             "%s has %" PRIu32 " classes, but %s has %" PRIu32
                             ": all folders must have the same subfolders",
                             paths->gl_pathv[i], part->source.classes, paths->gl_pathv[0],
                             parts->at[0].source.classes);
        }
    }
    return TN_OK;
}

static struct digest digest_of_parts(const struct source_type *type, const struct parts *parts,
                                     const char *options)
{
    struct digest_stream stream;
    const uint32_t numbers[] = {type->version, parts->count};
    digest_begin(&stream);
    digest_add(&stream, type->name, strlen(type->name) + 1);
    digest_add(&stream, options, strlen(options) + 1);
    digest_add(&stream, numbers, sizeof numbers);
    for (uint32_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->at[i];
        const uint64_t sizes[] = {part->source.digest.low, part->source.digest.high,
                                  part->source.count};
        digest_add(&stream, sizes, sizeof sizes);
    }
    return digest_end(&stream);
}

/* Make one source of the parts, which it then owns. */
static enum tn_status join(const struct source_type *type, struct parts *parts, const char *options,
                           struct source *out, struct error *error)
{
    const struct source *first = &parts->at[0].source;
    const struct part *last = &parts->at[parts->count - 1];
    struct source_column *columns = calloc(first->column_count, sizeof *columns);
    if (columns == NULL) { return error_set(error, TN_ENOMEM, "out of memory for columns"); }
    memcpy(columns, first->columns, first->column_count * sizeof *columns);
    *out = (struct source){
        .type = &parts_type,
        .count = last->first + last->source.count,
        .column_count = first->column_count,
        .columns = columns,
        .digest = digest_of_parts(type, parts, options),
        .classes = first->classes,
        .state = parts,
    };
    return TN_OK;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum tn_status find_paths(const char *pattern, glob_t *paths, struct error *error)
{
    const int code = glob(pattern, GLOB_NOSORT | GLOB_BRACE, NULL, paths);
    if (code == GLOB_NOSPACE) { return error_set(error, TN_ENOMEM, "out of memory"); }
    if (code == GLOB_ABORTED) {
        return error_set(error, TN_EIO, "%s: a folder cannot be read", pattern);
    }
    if (code == GLOB_NOMATCH || paths->gl_pathc == 0) {
        return error_set(error, TN_ENOENT, "no file matches '%s'%s", pattern,
                         pattern[0] == '/' ? ""
                                           : " (relative to the folder in which the command runs)");
    }
    if (paths->gl_pathc > UINT32_MAX) {
        return error_set(error, TN_EINVAL, "%s: too many files", pattern);
    }
    qsort(paths->gl_pathv, paths->gl_pathc, sizeof *paths->gl_pathv, compare_paths);
    return TN_OK;
}

static enum tn_status open_paths(const struct source_type *type, const struct source_config *config,
                                 const glob_t *paths, struct source *out, struct error *error)
{
    const char *options = config->options != NULL ? config->options : "";
    struct parts *parts = calloc(1, sizeof *parts + paths->gl_pathc * sizeof *parts->at);
    if (parts == NULL) { return error_set(error, TN_ENOMEM, "out of memory for files"); }
    enum tn_status status = open_parts(config, paths, parts, error);
    if (status == TN_OK) { status = join(type, parts, options, out, error); }
    if (status != TN_OK) {
        struct source failed = {.state = parts};
        close_parts(&failed);
    }
    return status;
}

static enum tn_status refuse_format(const char *format, struct error *error)
{
    static const char *const columnar[] = {"parquet", "arrow", "feather", "orc"};
    for (size_t i = 0; i < sizeof columnar / sizeof *columnar; i++) {
        if (strcmp(columnar[i], format) != 0) { continue; }
        return error_set(error, TN_EINVAL,
                         "the format '%s' is not read: write its columns as .npy files in a folder "
                         "(docs/data-formats.md, Parquet) and give the format 'npy'",
                         format);
    }
    const char *known[sizeof types / sizeof *types];
    char names[256] = "";
    for (size_t i = 0, used = 0; i < sizeof types / sizeof *types; i++) {
        known[i] = types[i]->name;
        if (find_type(types[i]->name) != types[i]) { continue; }
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ",
                                 types[i]->name);
        assert(used < sizeof names);
    }
    const char *near = nearest_word(format, known, sizeof known / sizeof *known);
    if (near != NULL) {
        return error_set(error, TN_EINVAL, "unknown data.format '%s': did you mean '%s'?", format,
                         near);
    }
    return error_set(error, TN_EINVAL, "unknown data.format '%s': give one of %s", format, names);
}

enum tn_status source_open(const struct source_config *config, struct source *out,
                           struct error *error)
{
    assert(config->format != NULL && config->pattern != NULL);
    *out = (struct source){0};
    const struct source_type *type = find_type(config->format);
    if (type == NULL) { return refuse_format(config->format, error); }
    glob_t paths = {0};
    enum tn_status status = find_paths(config->pattern, &paths, error);
    if (status == TN_OK) { status = open_paths(type, config, &paths, out, error); }
    globfree(&paths);
    return status;
}
