/* cli/model/export.c: `tanist export`: a checkpoint as a file that other programs read. */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/export.h"

#include "cli/commands.h"
#include "cli/model/export_onnx.h"
#include "cli/model/export_tensors.h"
#include "cli/model/saved_rows.h"
#include "cli/output.h"

enum { FACTS = 6 };

struct exporting;

typedef enum tn_status write_function(struct exporting *export, struct partial_file *file,
                                      struct error *error);

static write_function write_safetensors, write_npz, write_onnx;

static const struct format {
    const char *ending;
    write_function *write;
    bool has_state;
    /* The row of a key that has none; NULL: the reader of the file decides. */
    const char *unknown_keys;
} formats[] = {
    {".safetensors", write_safetensors, true, NULL},
    {".npz", write_npz, true, NULL},
    {".onnx", write_onnx, false, "zeros"},
};

struct exporting {
    const char *dir, *to, *output;
    const char *checkpoint;
    bool state, prepared;
    const struct format *format;
    struct saved_model saved;
    struct export_tensors tensors;
    struct export_fact facts[FACTS + 1];
    char step[24], checkpoint_text[24], digest[DIGEST_TEXT_BYTES];
    uint64_t bytes;
};

static enum tn_status find_format(struct exporting *export, struct error *error)
{
    if (export->to == NULL) {
        return error_set(error, TN_EINVAL,
                         "no file: give --to FILE.safetensors, FILE.npz or FILE.onnx");
    }
    const size_t length = strlen(export->to);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const size_t ending = strlen(formats[i].ending);
        if (length <= ending || strcmp(export->to + length - ending, formats[i].ending) != 0) {
            continue;
        }
        export->format = &formats[i];
        if (!export->state || formats[i].has_state) { return TN_OK; }
        return error_set(error, TN_EINVAL,
                         "--state: %s files have no place for it: give .safetensors or .npz",
                         formats[i].ending);
    }
    return error_set(error, TN_EINVAL,
                     "--to %s: the ending decides the format: give .safetensors, .npz or .onnx",
                     export->to);
}

/* ------------------------------------------------------------- the command */

static struct export_source source_of(struct exporting *export)
{
    return (struct export_source){.tensors = export->tensors.list,
                                  .count = export->tensors.count,
                                  .facts = export->facts,
                                  .array = export_tensors_array,
                                  .ctx = &export->tensors};
}

static enum tn_status write_safetensors(struct exporting *export, struct partial_file *file,
                                        struct error *error)
{
    const struct export_source source = source_of(export);
    return export_safetensors(&source, file, error);
}

static enum tn_status write_npz(struct exporting *export, struct partial_file *file,
                                struct error *error)
{
    const struct export_source source = source_of(export);
    return export_npz(&source, file, error);
}

static enum tn_status write_onnx(struct exporting *export, struct partial_file *file,
                                 struct error *error)
{
    return export_model_onnx(&export->saved, export->facts, export->prepared, file, error);
}

static enum tn_status note_facts(struct exporting *export, struct error *error)
{
    struct digest digest;
    const struct manifest *manifest = &export->saved.manifest;
    snprintf(export->step, sizeof export->step, "%" PRIu64, manifest->step);
    snprintf(export->checkpoint_text, sizeof export->checkpoint_text, "%" PRIu64, manifest->id);
    enum tn_status status = saved_rows_digest(&export->saved, &digest, error);
    if (status != TN_OK) { return status; }
    digest_format(digest, export->digest);
    const struct export_fact facts[FACTS] = {
        {"format", "tanist"},
        {"job", export->saved.job.name},
        {"checkpoint", export->checkpoint_text},
        {"step", export->step},
        {"digest", export->digest},
        {export->saved.columns != NULL ? "columns" : NULL, export->saved.columns},
    };
    memcpy(export->facts, facts, sizeof facts);
    return TN_OK;
}

static enum tn_status write_file(struct exporting *export, struct error *error)
{
    struct partial_file file = {.file = NULL};
    enum tn_status status = note_facts(export, error);
    if (status != TN_OK) { return status; }
    status = partial_file_open(&file, export->to, error);
    if (status == TN_OK) { status = export->format->write(export, &file, error); }
    export->bytes = file.bytes;
    return partial_file_close(&file, status, error);
}

/* NULL: the file has no lookups. */
static const char *unknown_keys(const struct exporting *export)
{
    const bool has_tables = export->saved.model->table.row_table_count > 0;
    return has_tables ? export->format->unknown_keys : NULL;
}

static int print(const struct exporting *export)
{
    const struct manifest *manifest = &export->saved.manifest;
    const char *unknown = unknown_keys(export);
    if (output_is_json(export->output)) {
        return output_json(json_pack("{s:i, s:s, s:I, s:I, s:I, s:I, s:I, s:s, s:s?}", "version", 1,
                                     "file", export->to, "checkpoint", (json_int_t)manifest->id,
                                     "step", (json_int_t)manifest->step, "tensors",
                                     (json_int_t) export->tensors.count, "parameters",
                                     (json_int_t)manifest->parameter_count, "bytes",
                                     (json_int_t) export->bytes, "digest", export->digest,
                                     "unknown_keys", unknown),
                           JSON_INDENT(2));
    }
    int written = printf("%s: %zu tensor%s, %" PRIu64 " parameters, step %" PRIu64 ", digest %s\n",
                         export->to, export->tensors.count, export->tensors.count == 1 ? "" : "s",
                         manifest->parameter_count, manifest->step, export->digest);
    if (written >= 0 && unknown != NULL) {
        written = printf("A key without a row gets %s here, and its initial values in `tanist "
                         "predict`.\n",
                         unknown);
    }
    return written < 0 ? TN_EXIT_IO : TN_EXIT_OK;
}

static enum tn_status make_file(struct exporting *export, struct error *error)
{
    enum tn_status status = find_format(export, error);
    if (status == TN_OK) {
        status = saved_model_open(&export->saved, export->dir, export->checkpoint, error);
    }
    export->tensors.saved = &export->saved;
    if (status == TN_OK) { status = export_tensors_open(&export->tensors, export->state, error); }
    return status == TN_OK ? write_file(export, error) : status;
}

static void close_exporting(struct exporting *export)
{
    export_tensors_close(&export->tensors);
    saved_model_close(&export->saved);
}

static int work(struct exporting *export)
{
    struct error error = {0};
    const enum tn_status status = make_file(export, &error);
    const int exit_code = status == TN_OK ? print(export) : command_failed(&error);
    close_exporting(export);
    return exit_code;
}

enum tn_status export_newest(const char *dir, const char *to, struct error *error)
{
    assert(dir != NULL && to != NULL);
    struct exporting *export = calloc(1, sizeof *export);
    if (export == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    export->dir = dir;
    export->to = to;
    const enum tn_status status = make_file(export, error);
    close_exporting(export);
    free(export);
    return status;
}

int command_export(int argc, char **argv)
{
    int exit_code = 0;
    struct exporting *export = calloc(1, sizeof *export);
    struct options options = {
        .command = "export",
        .synopsis = "DIR --to FILE.(safetensors|npz|onnx) [OPTION]...",
        .about = "Write the parameters of the run in DIR to a file for other programs. The "
                 "extension of FILE\ndetermines the format; ONNX files also contain the network. "
                 "The run may be active or not. With\ntrain.ema the file contains the moving "
                 "averages, which evaluations use.",
        .examples = "  tanist export runs/fashion-mnist --to model.safetensors\n"
                    "  tanist export runs/fashion-mnist --to model.onnx\n"
                    "  tanist export runs/fashion-mnist --to model.npz --checkpoint 12 --state\n"};
    if (export == NULL) { return TN_EXIT_ERROR; }
    options_folder(&options, &export->dir, true, RUN_FOLDER_HELP);
    options_text(&options, "to", &export->to, "FILE", "The file to write.");
    options_text(&options, "checkpoint", &export->checkpoint, "N",
                 "A checkpoint of `tanist checkpoints list`, or `best`; default the newest.");
    options_flag(&options, 0, "state", &export->state,
                 "Also write the optimizer's state, as state/ARRAY/VARIABLE and TABLE/state.");
    options_flag(&options, 0, "prepared", &export->prepared,
                 "For ONNX files: use the input of the model, without the nodes that compute it "
                 "from columns.");
    output_option_text(&options, &export->output);
    if (options_parse(&options, argc, argv, &exit_code)) { exit_code = work(export); }
    free(export);
    return exit_code;
}
