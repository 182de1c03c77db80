/* chaos/cluster/round_folder.h: what stays of a round's folder. Blocking: on the disk. */
#ifndef CHAOS_CLUSTER_ROUND_FOLDER_H
#define CHAOS_CLUSTER_ROUND_FOLDER_H

/* Remove everything below `dir` but its history.jsonl. Follows no link; what cannot be removed
 * stays. */
void folder_keep_history(const char *dir);

#endif
