#include "data/image/augment.h"

#include <assert.h>

#include "common/base/random.h"

#define STREAM_AUGMENT UINT64_C(0x6175676d656e7400)

enum { DRAW_TOP, DRAW_LEFT, DRAW_FLIP, DRAWS = 4 };

/* Places of a part of `part` pixels in `whole` ones. */
static uint32_t places(uint32_t whole, uint32_t margin, uint32_t part)
{
    assert(part >= 1 && part <= whole + 2 * margin);
    return whole + 2 * margin - part + 1;
}

struct augment_choice augment_choose(const struct augment *augment, uint64_t seed, uint64_t epoch,
                                     uint64_t example)
{
    const uint64_t stream = STREAM_AUGMENT + epoch, first = example * DRAWS;
    const uint32_t rows = places(augment->from.height, augment->margin, augment->height);
    const uint32_t columns = places(augment->from.width, augment->margin, augment->width);
    return (struct augment_choice){
        .top = (uint32_t)(random_at(seed, stream, first + DRAW_TOP) % rows),
        .left = (uint32_t)(random_at(seed, stream, first + DRAW_LEFT) % columns),
        .flipped = augment->flip && random_at(seed, stream, first + DRAW_FLIP) >> 63 != 0,
    };
}

struct augment_choice augment_middle(const struct augment *augment)
{
    return (struct augment_choice){
        .top = (places(augment->from.height, augment->margin, augment->height) - 1) / 2,
        .left = (places(augment->from.width, augment->margin, augment->width) - 1) / 2,
    };
}

void augment_apply(const struct augment *augment, struct augment_choice choice,
                   const uint8_t *pixels, float *out)
{
    const struct image_shape from = augment->from;
    assert(from.channels >= 1 && from.channels <= 3);
    for (uint32_t y = 0; y < augment->height; y++) {
        /* Coordinates in the margin above or on the left wrap around, and so are too large. */
        const uint32_t row = choice.top + y - augment->margin;
        for (uint32_t x = 0; x < augment->width; x++) {
            const uint32_t across = choice.flipped ? augment->width - 1 - x : x;
            const uint32_t column = choice.left + across - augment->margin;
            const bool inside = row < from.height && column < from.width;
            const uint8_t *pixel =
                inside ? pixels + ((size_t)row * from.width + column) * from.channels : NULL;
            for (uint32_t c = 0; c < from.channels; c++) {
                const float value = inside ? (float)pixel[c] / 255.0F : 0;
                *out++ = (value - augment->mean[c]) / augment->spread[c];
            }
        }
    }
}
