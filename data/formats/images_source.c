/* A folder of images as a source: each subfolder is a class, and each file in it, JPEG or PNG, is
 * an example. The columns are `image` and `label`. Opening reads all files once: for the digest,
 * and to check their headers. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/json_codec.h"
#include "data/formats/formats.h"
#include "data/formats/picture.h"
#include "data/source/file.h"

enum { IMAGE, LABEL, COLUMNS, CLASSES_MAX = 1 << 20 };

struct image_file {
    uint32_t label;
    char *name; /* The file in the folder of its class. */
};

struct images {
    char *path;
    uint32_t class_count;
    char **classes; /* Folders. */
    uint64_t count, capacity;
    struct image_file *files;
    struct picture picture;
};

static void close_images(struct source *source)
{
    struct images *images = source->state;
    if (images == NULL) { return; }
    for (uint64_t i = 0; i < images->count; i++) { free(images->files[i].name); }
    for (uint32_t i = 0; i < images->class_count; i++) { free(images->classes[i]); }
    free(images->files);
    free(images->classes);
    free(images->path);
    free(images);
    source->state = NULL;
}

static enum tn_status no_memory(const struct images *images, struct error *error)
{
    return error_set(error, TN_ENOMEM, "%s: out of memory", images->path);
}

/* ---------------------------------------------------------------- listing */

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void free_entries(struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++) { free(entries[i]); }
    free(entries);
}

static enum tn_status list(const char *path, struct dirent ***entries, int *count,
                           struct error *error)
{
    *count = scandir(path, entries, is_visible, by_bytes);
    if (*count >= 0) { return TN_OK; }
    return error_set(error, errno == ENOMEM ? TN_ENOMEM : TN_EIO, "%s: cannot list: %s", path,
                     strerror(errno));
}

static enum tn_status add_file(struct images *images, uint32_t label, const char *name,
                               struct error *error)
{
    if (images->count == images->capacity) {
        const uint64_t capacity = 2 * images->capacity + 64;
        struct image_file *grown = realloc(images->files, capacity * sizeof *grown);
        if (grown == NULL) { return no_memory(images, error); }
        images->files = grown;
        images->capacity = capacity;
    }
    char *copy = strdup(name);
    if (copy == NULL) { return no_memory(images, error); }
    images->files[images->count++] = (struct image_file){.label = label, .name = copy};
    return TN_OK;
}

static enum tn_status list_class(struct images *images, uint32_t label, struct error *error)
{
    struct dirent **entries;
    int count;
    char *path;
    if (asprintf(&path, "%s/%s", images->path, images->classes[label]) < 0) {
        return no_memory(images, error);
    }
    enum tn_status status = list(path, &entries, &count, error);
    free(path);
    if (status != TN_OK) { return status; }
    for (int i = 0; i < count && status == TN_OK; i++) {
        status = add_file(images, label, entries[i]->d_name, error);
    }
    free_entries(entries, count);
    return status;
}

static bool is_folder(const char *parent, const char *name)
{
    struct stat about;
    char *path;
    if (asprintf(&path, "%s/%s", parent, name) < 0) { return false; }
    const bool folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    free(path);
    return folder;
}

static enum tn_status add_classes(struct images *images, struct dirent **entries, int count,
                                  struct error *error)
{
    images->classes = calloc((uint32_t)count + 1U, sizeof *images->classes);
    if (images->classes == NULL) { return no_memory(images, error); }
    for (int i = 0; i < count; i++) {
        if (!is_folder(images->path, entries[i]->d_name)) { continue; }
        char *name = strdup(entries[i]->d_name);
        if (name == NULL) { return no_memory(images, error); }
        images->classes[images->class_count++] = name;
    }
    if (images->class_count > 0 && images->class_count <= CLASSES_MAX) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "%s: %" PRIu32
                     " subfolders: there must be one for each class, with its images",
                     images->path, images->class_count);
}

static enum tn_status list_all(struct images *images, struct error *error)
{
    struct dirent **entries;
    int count;
    enum tn_status status = list(images->path, &entries, &count, error);
    if (status != TN_OK) { return status; }
    status = add_classes(images, entries, count, error);
    free_entries(entries, count);
    for (uint32_t label = 0; label < images->class_count && status == TN_OK; label++) {
        status = list_class(images, label, error);
    }
    if (status != TN_OK || images->count > 0) { return status; }
    return error_set(error, TN_EINVAL, "%s: the subfolders have no images", images->path);
}

/* ---------------------------------------------------------------- reading */

static char *path_of(const struct images *images, uint64_t i)
{
    const struct image_file *file = &images->files[i];
    char *path;
    const int length =
        asprintf(&path, "%s/%s/%s", images->path, images->classes[file->label], file->name);
    return length < 0 ? NULL : path;
}

/* Check a file's header and add its name and contents to the digest. */
static enum tn_status check_file(struct images *images, const struct picture_options *options,
                                 uint64_t i, const struct source_file *file,
                                 struct digest_stream *digest, struct error *error)
{
    const struct digest contents = digest_of(file->bytes, file->size);
    const char *name = images->files[i].name, *folder = images->classes[images->files[i].label];
    digest_add(digest, folder, strlen(folder) + 1);
    digest_add(digest, name, strlen(name) + 1);
    digest_add(digest, &contents, sizeof contents);
    if (i == 0) { return picture_begin(options, file->bytes, file->size, &images->picture, error); }
    return picture_check(&images->picture, file->bytes, file->size, error);
}

static enum tn_status check_all(struct images *images, const struct picture_options *options,
                                struct digest *out, struct error *error)
{
    struct digest_stream digest;
    enum tn_status status = TN_OK;
    digest_begin(&digest);
    for (uint64_t i = 0; i < images->count && status == TN_OK; i++) {
        struct source_file file = {0};
        char *path = path_of(images, i);
        if (path == NULL) { return no_memory(images, error); }
        status = source_file_open(path, &file, error);
        if (status == TN_OK) {
            status = check_file(images, options, i, &file, &digest, error);
            status = formats_wrong_file(status, path, error);
        }
        source_file_close(&file);
        free(path);
    }
    *out = digest_end(&digest);
    return status;
}

static enum tn_status make_columns(const struct images *images, struct source *source,
                                   struct error *error)
{
    source->columns = calloc(COLUMNS, sizeof *source->columns);
    if (source->columns == NULL) { return no_memory(images, error); }
    source->columns[IMAGE] = (struct source_column){.name = "image"};
    picture_describe(&images->picture, &source->columns[IMAGE]);
    source->columns[LABEL] = (struct source_column){.name = "label", .kind = SOURCE_NUMBER};
    source->column_count = COLUMNS;
    source->count = images->count;
    source->classes = images->class_count;
    return TN_OK;
}

static enum tn_status open_images(const struct source_input *input, struct source *source,
                                  struct error *error)
{
    struct picture_options options;
    enum tn_status status = picture_read_options(input->options, &options, error);
    if (status != TN_OK) { return status; }
    struct images *images = calloc(1, sizeof *images);
    char *path = strdup(input->path);
    if (images == NULL || path == NULL) {
        free(images);
        free(path);
        return error_set(error, TN_ENOMEM, "%s: out of memory", input->path);
    }
    images->path = path;
    source->state = images;
    status = list_all(images, error);
    if (status == TN_OK) { status = check_all(images, &options, &source->digest, error); }
    if (status == TN_OK) { status = make_columns(images, source, error); }
    if (status != TN_OK) { close_images(source); }
    return status;
}

static enum tn_status read_row(const struct source *source, uint64_t i, struct source_row *row,
                               struct error *error)
{
    const struct images *images = source->state;
    struct source_file file = {0};
    char *path = path_of(images, i);
    if (path == NULL) { return no_memory(images, error); }
    row->cells[LABEL].number = images->files[i].label;
    enum tn_status status = source_file_open(path, &file, error);
    if (status == TN_OK) {
        status =
            picture_read(&images->picture, file.bytes, file.size, row, &row->cells[IMAGE], error);
        status = formats_wrong_file(status, path, error);
    }
    source_file_close(&file);
    free(path);
    return status;
}

static void locate(const struct source *source, uint64_t i, uint32_t column,
                   char place[static SOURCE_PLACE_MAX])
{
    const struct images *images = source->state;
    const struct image_file *file = &images->files[i];
    snprintf(place, SOURCE_PLACE_MAX, "%s/%s/%s: %s", images->path, images->classes[file->label],
             file->name, source->columns[column].name);
}

const struct source_type images_type = {
    .name = "images",
    .contents = "a folder with one subfolder of JPEG and PNG files for each class",
    .version = 1,
    .folders = true,
    .open = open_images,
    .read = read_row,
    .locate = locate,
    .close = close_images,
};
