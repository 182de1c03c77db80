/* Fuzz target: any text is a job or gives an error; a job gives a model or an error. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A job survives being written and read. */
static void check(const struct job *job)
{
    struct job again;
    char *text = job_to_json(job);
    assert(text != NULL);
    job_init(&again);
    enum tn_status status = job_read_text(&again, text, strlen(text), "again", NULL);
    assert(status == TN_OK);
    assert(job_hash(job) == job_hash(&again));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct job job;
    struct error error = {0};
    struct model *model = NULL;
    job_init(&job);
    if (job_read_text(&job, (const char *)bytes, size, "input", &error) != TN_OK ||
        job_check(&job, &error) != TN_OK || model_open(&job, &model, &error) != TN_OK) {
        assert(error.text[0] != '\0');
        return 0;
    }
    check(&job);
    assert(model->table.count > 0);
    model_close(model);
    return 0;
}
