/*
 * data/image/augment.h: random changes of images while training: a mirrored image, a part of it.
 *
 * An augmented image is a function of (seed, epoch, example), so that it is the same on any worker,
 * after any recovery. Pure. Threads: any.
 */
#ifndef DATA_IMAGE_AUGMENT_H
#define DATA_IMAGE_AUGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "data/image/image.h"

struct augment {
    struct image_shape from;  /* Images as they are read. */
    uint32_t height, width;   /* The part: at most the image with its margin. */
    uint32_t margin;          /* Black pixels around the image, before a part is chosen. */
    bool flip;                /* Left and right are exchanged in half of the images. */
    float mean[3], spread[3]; /* For each channel, of values from 0 to 1. */
};

/* The part of an image that is used, in the image with its margin, and whether it is mirrored. */
struct augment_choice {
    uint32_t top, left;
    bool flipped;
};

/* For training: each part is equally likely. */
struct augment_choice augment_choose(const struct augment *augment, uint64_t seed, uint64_t epoch,
                                     uint64_t example);
/* For evaluation and prediction: the middle, not mirrored. */
struct augment_choice augment_middle(const struct augment *augment);

/* Write [height][width][channels] values (pixel / 255 - mean) / spread to `out`. */
void augment_apply(const struct augment *augment, struct augment_choice choice,
                   const uint8_t *pixels, float *out);

#endif
