/* chaos/cluster/round_folder.h: what is kept of the folder of a round that passed. Blocking: on the
 * disk. */
#ifndef CHAOS_CLUSTER_ROUND_FOLDER_H
#define CHAOS_CLUSTER_ROUND_FOLDER_H

/* Remove everything in `dir` except history.jsonl. Links are not followed; what cannot be removed
 * stays. */
void folder_keep_history(const char *dir);

#endif
