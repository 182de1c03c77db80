/* The reference of all keys: in docs/job-file.md, and as `tanist help` prints it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/job/job.h"

/* docs/job-file.md contains the reference that the table generates. */
static void reference_is_documented(void **state)
{
    (void)state;
    static char document[64 * 1024];
    FILE *file = fopen("docs/job-file.md", "re");
    assert_non_null(file);
    size_t size = fread(document, 1, sizeof document - 1, file);
    fclose(file);
    document[size] = '\0';
    char *reference = job_reference();
    if (strstr(document, reference) == NULL) {
        fail_msg("put `tanist help job --markdown` into docs/job-file.md");
    }
    free(reference);
}

/* The text of a name, which the caller frees. */
static char *text_of(const char *name)
{
    char *text = NULL;
    struct error error;
    assert_int_equal(job_reference_text(name, &text, &error), TN_OK);
    assert_non_null(text);
    return text;
}

/* A key is printed with its mark, the allowed values, the default and the meaning, without
 * links. */
static void key_is_explained(void **state)
{
    (void)state;
    char *text = text_of("train.optimizer");
    assert_non_null(strstr(text, "train.optimizer *\n"));
    assert_non_null(strstr(text, "`lamb`; default `"));
    assert_non_null(strstr(text, "How gradients change the parameters: see Optimizers.\n"));
    assert_null(strstr(text, "train.table_optimizer"));
    free(text);
}

/* The name of a section prints its keys, and "job" prints all keys in lines for a terminal. */
static void sections_are_explained(void **state)
{
    (void)state;
    char *text = text_of("checkpoint");
    assert_non_null(strstr(text, "checkpoint.every_steps\n"));
    assert_non_null(strstr(text, "checkpoint.best\n"));
    assert_null(strstr(text, "train.steps"));
    free(text);
    text = text_of("job");
    assert_non_null(strstr(text, "name\n"));
    assert_non_null(strstr(text, "train.steps\n"));
    assert_non_null(strstr(text, "`[\"embedding*\"]`")); /* Not the text of a link. */
    assert_null(strstr(text, "](#"));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_true(strlen(line) <= 120);
    }
    free(text);
}

/* An unknown key is an error that suggests one. */
static void unknown_key_is_refused(void **state)
{
    (void)state;
    char *text = NULL;
    struct error error;
    assert_true(job_has_key("train") && job_has_key("seed"));
    assert_false(job_has_key("train.step") || job_has_key("tra"));
    assert_int_equal(job_reference_text("train.step", &text, &error), TN_EINVAL);
    assert_null(text);
    assert_non_null(strstr(error.text, "did you mean \"train.steps\"?"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_is_documented),
        cmocka_unit_test(key_is_explained),
        cmocka_unit_test(sections_are_explained),
        cmocka_unit_test(unknown_key_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
