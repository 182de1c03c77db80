#include "model/export/onnx_columns.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INPUT_NAME_MAX = 96, NOTE_MAX = 512 };

struct column {
    const char *name, *from, *as; /* `from`: NULL for crosses. */
    const json_t *spec;
    int64_t width; /* The count of numbers. */
};

static int64_t integer_of(const struct column *column, const char *key)
{
    return json_integer_value(json_object_get(column->spec, key));
}

/* ---------------------------------------------------------------- inputs */

/* An input "NAME" or "NAME:ENDING" of [batch, width]; columns may share it. */
static const char *named_input(struct to_onnx_builder *builder, const char *name,
                               const char *ending, int32_t type, int64_t width)
{
    char text[INPUT_NAME_MAX];
    const struct tn_shape shape = TN_SHAPE(TN_BATCH, width);
    (void)snprintf(text, sizeof text, "%s%s%s", name, *ending != '\0' ? ":" : "", ending);
    for (size_t i = 0; i < builder->proto->n_input; i++) {
        if (strcmp(builder->proto->input[i]->name, text) == 0) {
            return builder->proto->input[i]->name;
        }
    }
    const char *kept = to_onnx_keep_text(builder, text);
    to_onnx_input(builder, kept, type, &shape);
    return kept;
}

/* The input of a column of a file. If it is read in two ways, the second input has an ending. */
static const char *column_input(struct to_onnx_builder *builder, const struct column *column,
                                int32_t type, const char *ending)
{
    for (size_t i = 0; i < builder->proto->n_input; i++) {
        const Onnx__ValueInfoProto *input = builder->proto->input[i];
        if (strcmp(input->name, column->from) != 0) { continue; }
        if (input->type->tensor_type->elem_type == type) { break; }
        return named_input(builder, column->from, ending, type, column->width);
    }
    return named_input(builder, column->from, "", type, column->width);
}

static const char *text_input(struct to_onnx_builder *builder, const struct column *column)
{
    return column_input(builder, column, ONNX__TENSOR_PROTO__DATA_TYPE__STRING, "text");
}

static const char *number_input(struct to_onnx_builder *builder, const struct column *column)
{
    return column_input(builder, column, ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE, "number");
}

/* ---------------------------------------------------------------- numbers */

static const char *cast(struct to_onnx_builder *builder, const char *x, int32_t type)
{
    const char *y = to_onnx_node1(builder, "Cast", x, NULL);
    to_onnx_attribute_int(builder, "to", type);
    return y;
}

static const char *to_float(struct to_onnx_builder *builder, const char *x)
{
    return cast(builder, x, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
}

/* Element `place` of the moments, for each number: mean, deviation, least, most. */
static double *moments_of(struct to_onnx_builder *builder, const struct column *column,
                          size_t place)
{
    const json_t *moments = json_object_get(column->spec, "moments");
    double *list = to_onnx_keep(builder, (size_t)column->width * sizeof *list);
    for (int64_t k = 0; list != NULL && k < column->width; k++) {
        const json_t *one = json_array_get(moments, (size_t)k);
        list[k] = json_number_value(json_array_get(one, place));
    }
    return list;
}

static const char *replace_missing(struct to_onnx_builder *builder, const struct column *column,
                                   const char *x)
{
    const json_t *missing = json_object_get(column->spec, "missing");
    if (missing == NULL) { return x; }
    double number = json_number_value(missing);
    const char *value =
        json_is_string(missing)
            ? to_onnx_doubles(builder, moments_of(builder, column, 0), column->width)
            : to_onnx_doubles(builder, &number, 1);
    const char *in[] = {to_onnx_node1(builder, "IsNaN", x, NULL), value, x};
    return to_onnx_node(builder, "Where", in, 3, NULL);
}

static const char *write_numbers(struct to_onnx_builder *builder, const struct column *column)
{
    const char *scale = json_string_value(json_object_get(column->spec, "scale"));
    const char *x = replace_missing(builder, column, number_input(builder, column));
    if (scale == NULL) { return to_float(builder, x); }
    const bool standard = strcmp(scale, "standard") == 0;
    double *from = moments_of(builder, column, standard ? 0 : 2);
    double *range = moments_of(builder, column, standard ? 1 : 3);
    for (int64_t k = 0; from != NULL && range != NULL && k < column->width; k++) {
        if (!standard) { range[k] -= from[k]; }
        if (!(range[k] > 0)) { range[k] = 1; }
    }
    x = to_onnx_node2(builder, "Sub", x, to_onnx_doubles(builder, from, column->width), NULL);
    x = to_onnx_node2(builder, "Div", x, to_onnx_doubles(builder, range, column->width), NULL);
    return to_float(builder, x);
}

/* Pixels that change while training come as the model reads them. */
static const char *write_pixels(struct to_onnx_builder *builder, const struct column *column)
{
    static const char *const changes[] = {"flip", "margin", "crop", "mean", "deviation"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        if (json_object_get(column->spec, changes[i]) == NULL) { continue; }
        to_onnx_note(builder, column->name, "values",
                     "the part in the middle of the image, as (pixel / 255 - mean) / deviation");
        return named_input(builder, column->name, "values", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
                           column->width);
    }
    const char *x = column_input(builder, column, ONNX__TENSOR_PROTO__DATA_TYPE__UINT8, "pixels");
    return to_onnx_node2(builder, "Div", to_float(builder, x), to_onnx_number(builder, 255), NULL);
}

/* --------------------------------------------------------------- categories */

/* int64 [batch, 1] */
static const char *write_bucket(struct to_onnx_builder *builder, const struct column *column,
                                const char *x)
{
    const json_t *list = json_object_get(column->spec, "edges");
    const size_t count = json_array_size(list);
    const int64_t axis = 1;
    double *edges = to_onnx_keep(builder, (count + 1) * sizeof *edges);
    for (size_t i = 0; edges != NULL && i < count; i++) {
        edges[i] = json_number_value(json_array_get(list, i));
    }
    x = replace_missing(builder, column, x);
    const char *above = to_onnx_node2(builder, "GreaterOrEqual", x,
                                      to_onnx_doubles(builder, edges, (int64_t)count), NULL);
    const char *ones = cast(builder, above, ONNX__TENSOR_PROTO__DATA_TYPE__INT64);
    return to_onnx_node2(builder, "ReduceSum", ones, to_onnx_integers(builder, &axis, 1), NULL);
}

/* The number of a text that the vocabulary lacks. Without "unknown" it is out of range, so that no
 * row is found. */
static int64_t number_of(const json_t *vocabulary, const char *text)
{
    size_t i;
    json_t *value;
    json_array_foreach(vocabulary, i, value)
    {
        if (strcmp(json_string_value(value), text) == 0) { break; }
    }
    return (int64_t)i;
}

static const char *write_vocabulary(struct to_onnx_builder *builder, const struct column *column,
                                    const char *x)
{
    const json_t *vocabulary = json_object_get(column->spec, "vocabulary");
    const char *missing = json_string_value(json_object_get(column->spec, "missing"));
    const size_t count = json_array_size(vocabulary);
    const char **keys = to_onnx_keep(builder, (count + 1) * sizeof *keys);
    int64_t *numbers = to_onnx_keep(builder, (count + 1) * sizeof *numbers);
    if (keys == NULL || numbers == NULL) { return ""; }
    size_t used = 0;
    bool has_empty = false;
    for (size_t i = 0; i < count; i++) {
        keys[used] = json_string_value(json_array_get(vocabulary, i));
        has_empty = has_empty || *keys[used] == '\0';
        numbers[used++] = (int64_t)i;
    }
    if (missing != NULL && !has_empty) {
        keys[used] = "";
        numbers[used++] = number_of(vocabulary, missing);
    }
    const char *y = to_onnx_node1(builder, "LabelEncoder", x, NULL);
    to_onnx_domain_ml(builder);
    to_onnx_attribute_texts(builder, "keys_strings", keys, used);
    to_onnx_attribute_ints(builder, "values_int64s", numbers, used);
    to_onnx_attribute_int(builder, "default_int64", (int64_t)count);
    return y;
}

static bool is_table(const struct column *column)
{
    return json_is_true(json_object_get(column->spec, "table"));
}

static bool is_bucket(const struct column *column)
{
    return strcmp(column->as, "bucket") == 0;
}

/* A number of 63 bits. */
static bool is_key(const struct column *column)
{
    return is_table(column) && !is_bucket(column) && integer_of(column, "hash") == 0 &&
           json_object_get(column->spec, "vocabulary") == NULL;
}

/* A number that LabelEncoder gives. */
static bool is_label(const struct column *column)
{
    return column->from != NULL && !is_key(column) && integer_of(column, "hash") == 0 &&
           integer_of(column, "unknown") <= 1;
}

/* The way to a number that ONNX cannot compute. */
static void note_hash(struct to_onnx_builder *builder, const struct column *column)
{
    char of[NOTE_MAX / 2] =
        "the numbers of the columns in \"of\", ids as 4 bytes and keys of tables "
        "as 8, low byte first";
    char modulo[64] = ", shifted right by 1 bit", note[NOTE_MAX];
    const int64_t hash = integer_of(column, "hash"), unknown = integer_of(column, "unknown");
    if (column->from != NULL) {
        (void)snprintf(of, sizeof of, "the text of column '%s' in UTF-8", column->from);
    }
    if (hash > 0) { (void)snprintf(modulo, sizeof modulo, ", modulo %" PRId64, hash); }
    (void)snprintf(note, sizeof note, "XXH64, with seed 0, of %s%s", of, modulo);
    if (unknown > 0) {
        (void)snprintf(note, sizeof note,
                       "the place in the vocabulary, from 0; of other texts of column '%s' its "
                       "size + XXH64, with seed 0, of the text in UTF-8, modulo %" PRId64,
                       column->from, unknown);
    }
    to_onnx_note(builder, column->name, is_key(column) ? "key" : "id", note);
}

static int64_t ids_of(const struct column *column)
{
    if (is_bucket(column)) {
        return (int64_t)json_array_size(json_object_get(column->spec, "edges")) + 1;
    }
    if (integer_of(column, "hash") > 0) { return integer_of(column, "hash"); }
    return (int64_t)json_array_size(json_object_get(column->spec, "vocabulary")) +
           integer_of(column, "unknown");
}

/* The source of the number of a column: a column of the file, or the number itself. */
static const char *id_input(struct to_onnx_builder *builder, const struct column *column)
{
    if (is_bucket(column)) { return number_input(builder, column); }
    if (is_label(column)) { return text_input(builder, column); }
    note_hash(builder, column);
    return named_input(builder, column->name, is_key(column) ? "key" : "id",
                       ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 1);
}

static const char *write_id(struct to_onnx_builder *builder, const struct column *column)
{
    const char *x = id_input(builder, column);
    if (is_bucket(column)) { return write_bucket(builder, column, x); }
    return is_label(column) ? write_vocabulary(builder, column, x) : x;
}

/* The input of a column of a table: 0 for each example. */
static const char *write_zeros(struct to_onnx_builder *builder, const struct column *column)
{
    const char *shape = to_onnx_node1(builder, "Shape", id_input(builder, column), NULL);
    return to_onnx_node2(builder, "Expand", to_onnx_number(builder, 0), shape, NULL);
}

/* One input for each id, or the id itself for an embedding. */
static const char *write_category(struct to_onnx_builder *builder, const struct column *column)
{
    static const float values[] = {0, 1};
    const struct tn_shape two = {.rank = 1, .dims = {2}};
    if (is_table(column)) { return write_zeros(builder, column); }
    const char *id = write_id(builder, column);
    if (integer_of(column, "embed") > 0) { return to_float(builder, id); }
    const int64_t count = ids_of(column), shape[] = {-1, count};
    const char *in[] = {
        id, to_onnx_integers(builder, &count, 1),
        to_onnx_initializer(builder, NULL, TN_FLOAT32, &two, values, sizeof values)};
    return to_onnx_node2(builder, "Reshape", to_onnx_node(builder, "OneHot", in, 3, NULL),
                         to_onnx_integers(builder, shape, 2), NULL);
}

/* -------------------------------------------------------------- all columns */

static bool is_numbers(const struct column *column)
{
    return strcmp(column->as, "number") == 0 || strcmp(column->as, "pixels") == 0;
}

static struct column column_of(const char *name, const json_t *spec)
{
    const size_t moments = json_array_size(json_object_get(spec, "moments"));
    return (struct column){
        .name = name,
        .from = json_string_value(json_object_get(spec, "from")),
        .as = json_string_value(json_object_get(spec, "as")),
        .spec = spec,
        .width = moments > 0 ? (int64_t)moments : 1,
    };
}

/* Inputs beyond those whose number the text has: they belong to the one column of numbers without
 * statistics. False: there are several such columns. */
static bool find_rest(const json_t *root, int64_t *rest)
{
    const char *name;
    json_t *spec;
    int64_t sum = 0, unknown = 0;
    json_object_foreach(json_object_get(root, "columns"), name, spec)
    {
        const struct column column = column_of(name, spec);
        const bool is_known = json_object_get(spec, "moments") != NULL;
        if (is_numbers(&column)) {
            sum += column.width;
            unknown += !is_known;
        } else {
            sum += integer_of(&column, "embed") > 0 || is_table(&column) ? 1 : ids_of(&column);
        }
    }
    *rest = json_integer_value(json_object_get(root, "inputs")) - sum;
    return *rest == 0 || (*rest > 0 && unknown == 1);
}

/* The inputs of a column, which has `rest` more if it has no statistics. */
static const char *write_inputs(struct to_onnx_builder *builder, struct column column, int64_t rest)
{
    if (!is_numbers(&column)) { return write_category(builder, &column); }
    if (json_object_get(column.spec, "moments") == NULL) { column.width += rest; }
    return strcmp(column.as, "pixels") == 0 ? write_pixels(builder, &column)
                                            : write_numbers(builder, &column);
}

/* The inputs of all columns side by side, or the `keys` of those with a table; NULL: none has. */
static const char *write_all(struct to_onnx_builder *builder, const json_t *root, int64_t rest,
                             bool keys)
{
    const char *name;
    json_t *spec;
    size_t count = 0;
    json_t *all = json_object_get(root, "columns");
    const char **parts = to_onnx_keep(builder, (json_object_size(all) + 1) * sizeof *parts);
    json_object_foreach(all, name, spec)
    {
        const struct column column = column_of(name, spec);
        if (parts == NULL) { return NULL; }
        if (!keys) { parts[count++] = write_inputs(builder, column, rest); }
        if (keys && is_table(&column)) { parts[count++] = write_id(builder, &column); }
    }
    if (count == 0) { return NULL; }
    const char *joined = to_onnx_node(builder, "Concat", parts, count, NULL);
    to_onnx_attribute_int(builder, "axis", 1);
    return joined;
}

static const char *write_columns(struct to_onnx_builder *builder, const char *columns, bool keys)
{
    int64_t rest = 0;
    const char *joined = NULL;
    json_t *root = json_loads(columns, 0, NULL);
    if (root != NULL && find_rest(root, &rest)) { joined = write_all(builder, root, rest, keys); }
    json_decref(root);
    return builder->error.status == TN_OK ? joined : NULL;
}

const char *onnx_columns_write(struct to_onnx_builder *builder, const char *columns)
{
    return write_columns(builder, columns, false);
}

const char *onnx_columns_write_keys(struct to_onnx_builder *builder, const char *columns)
{
    return write_columns(builder, columns, true);
}
