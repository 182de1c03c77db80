/* Decoding of ONNX files: every damage gives an error. */
#include "model/onnx/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "model/onnx/scan.h"
#include "model/onnx/tensor.h"
#include "tests/unit/model/onnx/models.h"

static uint8_t bytes[MODEL_BYTES_MAX];

static struct onnx_model *small_model(void)
{
    struct onnx_model *model = new_model(DIMS(-1, 4));
    add_node(model, "MatMul", "x w", "y");
    add_floats(model, "w", 0, DIMS(4, 3));
    return model;
}

static void expect_refusal(size_t size, const char *text)
{
    struct onnx_file file;
    struct error error = {.text = ""};
    assert_int_equal(onnx_file_decode(bytes, size, &file, &error), TN_EINVAL);
    if (strstr(error.text, text) == NULL) { fail_msg("%s", error.text); }
    assert_null(file.proto);
}

static void every_cut_is_refused_or_decoded(void **state)
{
    (void)state;
    const size_t size = pack(small_model(), bytes);
    for (size_t cut = 0; cut <= size; cut++) {
        struct onnx_file file;
        struct error error = {.text = ""};
        uint8_t *copy = malloc(cut + 1); /* So that ASan sees a read behind the end. */
        memcpy(copy, bytes, cut);
        enum tn_status status = onnx_file_decode(copy, cut, &file, &error);
        assert_true(status == TN_OK || (status == TN_EINVAL && error.text[0] != '\0'));
        onnx_file_close(&file);
        free(copy);
    }
}

/* graph { node { attribute { g { node ... */
static void deep_messages_are_refused(void **state)
{
    (void)state;
    enum { LEVELS = 3000 };
    static const uint8_t keys[] = {6 << 3 | 2, 5 << 3 | 2, 1 << 3 | 2}; /* From the inside. */
    size_t at = MODEL_BYTES_MAX;
    for (int level = 0; level < 3 * LEVELS; level++) {
        const size_t inner = MODEL_BYTES_MAX - at;
        bytes[--at] = (uint8_t)(inner >> 14);
        bytes[--at] = (uint8_t)(inner >> 7 & 0x7f) | 0x80;
        bytes[--at] = (uint8_t)(inner & 0x7f) | 0x80;
        bytes[--at] = keys[level % 3];
    }
    struct error error = {.text = ""};
    assert_int_equal(
        onnx_scan(&onnx__graph_proto__descriptor, bytes + at, MODEL_BYTES_MAX - at, &error),
        TN_EINVAL);
    assert_non_null(strstr(error.text, "messages are nested too deep"));
}

/* Each empty node has two bytes in the file, and many more in memory. */
static void small_files_need_no_large_memory(void **state)
{
    (void)state;
    enum { NODES = 6 << 20 };
    const size_t size = 2 * (size_t)NODES;
    uint8_t *many = malloc(size + 5);
    for (size_t i = 0; i < size; i += 2) {
        many[5 + i] = 1 << 3 | 2;
        many[6 + i] = 0;
    }
    many[0] = 7 << 3 | 2;
    for (int i = 0; i < 4; i++) {
        many[1 + i] = (uint8_t)(size >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0);
    }
    struct onnx_file file;
    struct error error = {.text = ""};
    assert_int_equal(onnx_file_decode(many, size + 5, &file, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "needs more than"));
    free(many);
}

static void wrong_fields_are_named(void **state)
{
    (void)state;
    const uint8_t long_node[] = {7 << 3 | 2, 2, 1 << 3 | 2, 100};
    const uint8_t wrong_type[] = {7 << 3 | 2, 2, 1 << 3 | 0, 1};
    memcpy(bytes, long_node, sizeof long_node);
    expect_refusal(sizeof long_node, "byte 4, field graph.node: the value is longer than the rest");
    memcpy(bytes, wrong_type, sizeof wrong_type);
    expect_refusal(sizeof wrong_type, "field graph.node: the value has the type of another field");
    expect_refusal(0, "graph.node is empty");
}

static void expect_tensor(struct onnx_model *model, const char *text)
{
    struct onnx_tensor tensor;
    struct error error = {.text = ""};
    assert_int_equal(onnx_tensor_read(model->initializers[0], &tensor, &error), TN_EINVAL);
    if (strstr(error.text, text) == NULL) { fail_msg("%s", error.text); }
    onnx_tensor_free(&tensor);
}

static void wrong_tensors_are_refused(void **state)
{
    (void)state;
    struct onnx_model *model = small_model();
    model->initializers[0]->dims[0] = 5;
    expect_tensor(model, "float_data has 12 elements, but by dims it has 15");
    model->initializers[0]->dims[0] = INT64_MAX;
    expect_tensor(model, "dims[0] is 9223372036854775807: out of range");
    model->initializers[0]->n_dims = 2;
    model->initializers[0]->dims[0] = INT64_C(1) << 40;
    model->initializers[0]->dims[1] = INT64_C(1) << 40;
    model->initializers[0]->n_float_data = 0;
    expect_tensor(model, "dims[1] is 1099511627776, which makes more than 1099511627776 elements");
    model = small_model();
    model->initializers[0]->data_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16;
    expect_tensor(model, "data_type is 10 (FLOAT16): only FLOAT");
    model = small_model();
    model->initializers[0]->has_raw_data = true;
    expect_tensor(model, "the values are in raw_data and in another field");
    model = small_model();
    model->initializers[0]->has_data_location = true;
    model->initializers[0]->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    expect_tensor(model, "external_data: the values are in another file");
}

static void only_regular_files_are_read(void **state)
{
    (void)state;
    char path[] = "/tmp/tanist-onnx.XXXXXX";
    const size_t size = pack(small_model(), bytes);
    const int descriptor = mkstemp(path);
    assert_int_equal(write(descriptor, bytes, size), (ssize_t)size);
    close(descriptor);
    struct onnx_file file;
    struct error error = {.text = ""};
    assert_int_equal(onnx_file_open(path, &file, NULL), TN_OK);
    onnx_file_close(&file);
    assert_int_equal(truncate(path, (off_t)size - 1), 0);
    assert_int_equal(onnx_file_open(path, &file, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, path));
    unlink(path);
    assert_int_equal(onnx_file_open(path, &file, &error), TN_ENOENT);
    assert_int_equal(onnx_file_open("/tmp", &file, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "model.path: /tmp is not a regular file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_is_refused_or_decoded),
        cmocka_unit_test(deep_messages_are_refused),
        cmocka_unit_test(small_files_need_no_large_memory),
        cmocka_unit_test(wrong_fields_are_named),
        cmocka_unit_test(wrong_tensors_are_refused),
        cmocka_unit_test(only_regular_files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
