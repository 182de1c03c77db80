/* tanist/tanist.h: the whole public interface. */
#ifndef TANIST_TANIST_H
#define TANIST_TANIST_H

#include "tanist/base.h"
#include "tanist/graph.h"
#include "tanist/layers.h"
#include "tanist/model.h"
#include "tanist/operation.h"
#include "tanist/program.h"
#include "tanist/session.h"
#include "tanist/source.h"
#include "tanist/status.h"
#include "tanist/tensor.h"

#endif
