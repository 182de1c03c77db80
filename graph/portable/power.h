/*
 * graph/portable/power.h: x to the power c with the same bits on every processor: by the functions
 * of kernels/optimizer/real.h. Private to graph/portable/.
 *
 * The results are those of doubles with a relative error below 1e-12 for finite |c| <= 64, rounded
 * to float. Special values are those of C's pow(). Pure.
 */
#ifndef GRAPH_PORTABLE_POWER_H
#define GRAPH_PORTABLE_POWER_H

float power_of(float x, float c);

#endif
