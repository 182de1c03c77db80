/* The forward pass of a job's model with its initial values, for tests/contract/test_onnx.py.
 *
 *   forward JOB.json EXAMPLES <inputs >outputs
 *
 * Inputs and outputs are floats in the byte order of the machine. */
#include <stdio.h>
#include <stdlib.h>

#include "model/model.h"
#include "tanist/program.h"

static int failed(const char *text)
{
    fprintf(stderr, "forward: %s\n", text);
    return 1;
}

static size_t elements(const struct tn_view *view)
{
    size_t count = 1;
    for (uint32_t d = 0; d < view->shape.rank; d++) { count *= (size_t)view->shape.dims[d]; }
    return count;
}

static int run(const struct model *model, uint32_t examples)
{
    struct tn_error text = {.text = ""};
    struct tn_program *program = NULL;
    const struct tn_program_options options = {
        .struct_size = sizeof options, .mode = TN_EVALUATE, .examples = examples};
    if (tn_program_create(model->graph, &options, &program, &text) != TN_OK) {
        return failed(text.text);
    }
    struct tn_view inputs = tn_program_field(program, "inputs");
    const size_t count = (size_t)tn_program_parameters(program);
    float *values = calloc(count + 1, sizeof *values);
    if (values == NULL) { return failed("out of memory"); }
    const size_t size_in = elements(&inputs);
    const bool read = fread(inputs.data, sizeof(float), size_in, stdin) == size_in;
    variables_init_range(&model->table, 1, 0, count, values);
    struct tn_run once = {.struct_size = sizeof once, .values = values, .scale = 1};
    const bool ran = tn_program_run(program, &once, &text) == TN_OK;
    free(values);
    if (!read || !ran) { return failed(read ? text.text : "cannot read the inputs"); }
    struct tn_view outputs = tn_program_output(program, "logits");
    if (outputs.data == NULL) { outputs = tn_program_output(program, "outputs"); }
    const size_t size = elements(&outputs);
    const bool written = fwrite(outputs.data, sizeof(float), size, stdout) == size;
    tn_program_destroy(program);
    return written ? 0 : failed("cannot write the outputs");
}

int main(int argc, char **argv)
{
    struct job job;
    struct error error = {.text = ""};
    struct model *model = NULL;
    if (argc != 3) { return failed("give JOB.json EXAMPLES"); }
    job_init(&job);
    enum tn_status status = job_read_file(&job, argv[1], &error);
    if (status == TN_OK) { status = job_check(&job, &error); }
    if (status == TN_OK) { status = model_open(&job, &model, &error); }
    if (status != TN_OK) { return failed(error.text); }
    const int code = run(model, (uint32_t)strtoul(argv[2], NULL, 10));
    model_close(model);
    return code;
}
