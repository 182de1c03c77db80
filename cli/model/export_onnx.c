#include "cli/model/export_onnx.h"

#include <assert.h>
#include <stdlib.h>

#include "cli/model/saved_rows.h"
#include "model/export/onnx.h"

/* The parts of the rows of each table: keys, then values. Freed also after a failure. */
static enum tn_status read_rows(struct saved_model *saved, struct onnx_rows *rows, void **parts,
                                struct error *error)
{
    enum tn_status status = TN_OK;
    for (uint32_t t = 0; t < saved->model->table.row_table_count && status == TN_OK; t++) {
        void **keys = &parts[2 * t], **values = &parts[2 * t + 1];
        status = saved_rows_read(saved, t, SAVED_KEYS, keys, error);
        if (status == TN_OK) { status = saved_rows_read(saved, t, SAVED_VALUES, values, error); }
        rows[t] = (struct onnx_rows){
            .keys = *keys, .values = *values, .count = saved_rows_shape(saved, t).rows};
    }
    return status;
}

static enum onnx_head head_of(const struct job *job)
{
    if (job_is_regression(job)) { return ONNX_NO_HEAD; }
    return job->model.outputs == 1 ? ONNX_SIGMOID : ONNX_SOFTMAX;
}

enum tn_status export_model_onnx(struct saved_model *saved, const struct export_fact *facts,
                                 bool prepared, struct partial_file *file, struct error *error)
{
    assert(saved->model != NULL && saved->values != NULL);
    const size_t tables = saved->model->table.row_table_count;
    struct onnx_rows *rows = calloc(tables + 1, sizeof *rows);
    void **parts = calloc(2 * tables + 1, sizeof *parts);
    const struct onnx_export onnx = {
        .graph = saved->model->graph,
        .table = &saved->model->table,
        .values = saved->values->data,
        .rows = rows,
        .head = head_of(&saved->job),
        .name = saved->job.name,
        .facts = facts,
        .columns = prepared ? NULL : saved->columns,
    };
    enum tn_status status = rows != NULL && parts != NULL
                                ? read_rows(saved, rows, parts, error)
                                : error_set(error, TN_ENOMEM, "out of memory");
    if (status == TN_OK) { status = export_onnx(&onnx, file, error); }
    for (size_t i = 0; parts != NULL && i < 2 * tables; i++) { free(parts[i]); }
    free(parts);
    free(rows);
    return status;
}
