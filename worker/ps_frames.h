/*
 * worker/ps_frames.h: the frames between a worker and its ps, as the training loop's actions and
 * events.
 *
 * Threads: any. Nothing blocks.
 */
#ifndef WORKER_PS_FRAMES_H
#define WORKER_PS_FRAMES_H

#include "common/net/transport.h"
#include "worker/training_loop.h"

/* LOOP_DO_PULL. */
struct frame_header ps_frames_pull(const struct loop_action *action);
/* LOOP_DO_PUSH, for one of its nodes: the whole gradient, without a loss. */
struct frame_header ps_frames_push(const struct training_loop *loop,
                                   const struct loop_action *action, uint32_t node);
/* Whether the frame has values, in either order of chunks. */
bool ps_frames_are_values(const struct frame_header *header);
/* VALUES, as one chunk, or REFUSED of a ps. */
struct loop_event ps_frames_answer(uint32_t ps, const struct frame_header *header);
/* The connection is closed because of this frame; `fault`: why. */
void ps_frames_log_invalid(uint32_t ps, const struct transport_event *event, const char *fault);

#endif
