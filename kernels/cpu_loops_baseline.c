/* The loops of the CPU backend for the baseline processor of the build. */
#define CPU_LOOPS cpu_loops_baseline
#include "kernels/cpu_loops.inc"
