/*
 * group/member_frame.h: the messages between the members of a group, in frames of type FRAME_GROUP.
 *
 *   HELLO   the first message of the member that dialed: its number
 *   BEGIN, READY, BROKEN   group/attempt.h
 *   ORDER   head -> member: compute slices [slice, slice + count) of `step`
 *   DONE    member -> head: the order is carried out
 *   TENSOR  the value of `edge` for a slice. Body: its elements, whose size both ends know
 *
 * The head decides for all ps; each member has the connections to its own ones:
 *
 *   LINK_UP, LINK_DOWN   member -> head: the connection to a ps
 *   RELAY   head -> member: send this to a ps. Body: the header of a PUSH or PULL
 *   ANSWER  member -> head: a ps has answered. Body: the header of VALUES, whose body is complete
 *           here, or of REFUSED
 *   TAKE    head -> member: copy these values of a ps into the next ones
 *   SWAP    head -> member: the next values are complete, they become the current ones
 *
 * Evaluations, of the current values of the label:
 *
 *   EVALUATE   head -> member: compute the examples of chunk `slice`
 *   RESULT     the value of `edge` of the evaluation for a chunk. Body: its elements
 *   READ       head -> member: values of a variable are wanted
 *   FLOATS     member -> head. Body: the values that were wanted last
 *
 * Without ps, where each member has all values (M13):
 *
 *   HOLDS      member -> head: it has values of the label's generation; 0: it has none
 *   GRADIENT   member -> head: of its variables, for the present order, before DONE. Body: floats
 *
 * Pure. Threads: any.
 */
#ifndef GROUP_MEMBER_FRAME_H
#define GROUP_MEMBER_FRAME_H

#include "common/net/wire.h"
#include "group/schedule.h"

enum member_frame_kind {
    MEMBER_FRAME_HELLO = 1,
    MEMBER_FRAME_BEGIN,
    MEMBER_FRAME_READY,
    MEMBER_FRAME_BROKEN,
    MEMBER_FRAME_ORDER,
    MEMBER_FRAME_DONE,
    MEMBER_FRAME_TENSOR,
    MEMBER_FRAME_LINK_UP,
    MEMBER_FRAME_LINK_DOWN,
    MEMBER_FRAME_RELAY,
    MEMBER_FRAME_ANSWER,
    MEMBER_FRAME_TAKE,
    MEMBER_FRAME_SWAP,
    MEMBER_FRAME_EVALUATE,
    MEMBER_FRAME_RESULT,
    MEMBER_FRAME_READ,
    MEMBER_FRAME_FLOATS,
    MEMBER_FRAME_HOLDS,
    MEMBER_FRAME_GRADIENT,
    MEMBER_FRAME_KINDS,
};

struct member_frame {
    enum member_frame_kind kind;
    uint64_t attempt;            /* All but HELLO. */
    struct schedule_label label; /* ORDER: with its first slice. DONE, TENSOR. */
    /* HELLO: the member. ORDER: slices. TENSOR, RESULT: the edge. READ: the variable. LINK_UP,
     * LINK_DOWN, RELAY, ANSWER, TAKE: the ps. */
    uint32_t number;
};

struct frame_header member_frame_write(const struct member_frame *message);

/* False: the frame is not a message between the members of a group that computes `slices` slices
 * of each step. A member, an edge, a ps, a chunk and a variable may still be ones that do not
 * exist. */
bool member_frame_read(const struct frame_header *header, uint32_t slices,
                       struct member_frame *out);

#endif
