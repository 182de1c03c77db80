/* Questions about the examples of a data set. */
#include <math.h>

#include "data/column_table.h"
#include "data/criteo.h"
#include "data/dataset.h"

const char *dataset_class_name(const struct dataset *dataset, uint32_t class)
{
    const struct columns *columns = dataset->table != NULL ? dataset->table->columns : NULL;
    if (columns == NULL || class >= columns_classes(columns)) { return NULL; }
    return columns_class_name(columns, class);
}

bool dataset_has_labels(const struct dataset *dataset)
{
    return dataset->table != NULL ? dataset->table->classes > 0 : dataset->labels != NULL;
}

bool dataset_has_targets(const struct dataset *dataset)
{
    if (dataset->targets_are_inputs) { return true; }
    return dataset->table != NULL ? dataset->table->classes == 0 : dataset->targets != NULL;
}

bool dataset_has_bytes(const struct dataset *dataset)
{
    return dataset->input_bytes != NULL;
}

double dataset_best_area(const struct dataset *dataset)
{
    const struct column_table *table = dataset->table;
    if (table == NULL || !criteo_is_source(&table->source)) { return (double)NAN; }
    return criteo_best_area(&table->source);
}
