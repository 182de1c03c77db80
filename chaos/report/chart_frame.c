#include "chaos/report/chart_frame.h"

#include <assert.h>

#include "common/base/minmax.h"

double chart_frame_x(const struct chart_frame *frame, double at_ms)
{
    assert(frame->left <= frame->right);
    if (frame->end_ms <= 0) { return frame->left; }
    double share = double_min(double_max(at_ms, 0), frame->end_ms) / frame->end_ms;
    return frame->left + share * (frame->right - frame->left);
}
