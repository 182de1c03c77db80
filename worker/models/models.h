/* worker/models/models.h: the model types there are. Only worker/models/model.c includes it. */
#ifndef WORKER_MODELS_MODELS_H
#define WORKER_MODELS_MODELS_H

#include "worker/models/model.h"

extern const struct model_type model_mlp;
extern const struct model_type model_softmax;
extern const struct model_type model_linear;

#endif
