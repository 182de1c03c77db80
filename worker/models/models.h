/* worker/models/models.h: the model types, for model.c and the files that define them. */
#ifndef WORKER_MODELS_MODELS_H
#define WORKER_MODELS_MODELS_H

#include "worker/models/model.h"

extern const struct model_type model_mlp;
extern const struct model_type model_softmax;
extern const struct model_type model_linear;

#endif
