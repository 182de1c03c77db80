/* Fuzz target: any bytes are an ONNX file or give an error; a file gives a graph or an error. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "model/onnx/file.h"
#include "model/onnx/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The inputs and outputs of the seeds, so that they are imported to their end. */
static const uint32_t sizes[][2] = {{128, 5}, {12, 3}};

static void import(const struct onnx_file *file, uint32_t inputs, uint32_t outputs)
{
    struct job job;
    struct error error = {.text = ""};
    struct tn_graph *graph = NULL;
    tn_tensor output = TN_NONE;
    job_init(&job);
    strcpy(job.model.type, "onnx");
    job.model.inputs = inputs;
    job.model.outputs = outputs;
    if (tn_graph_create(&graph, NULL) != TN_OK) { return; }
    enum tn_status status = onnx_import(file, &job, graph, &output, &error);
    assert(status == TN_OK ? output.v != 0 : error.text[0] != '\0');
    tn_graph_destroy(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct onnx_file file;
    struct error error = {.text = ""};
    if (onnx_file_decode(bytes, size, &file, &error) != TN_OK) {
        assert(error.text[0] != '\0');
        return 0;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        import(&file, sizes[i][0], sizes[i][1]);
    }
    onnx_file_close(&file);
    return 0;
}
