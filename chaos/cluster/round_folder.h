/* chaos/cluster/round_folder.h: cleans the folder of a round that passed. Blocking: on the disk. */
#ifndef CHAOS_CLUSTER_ROUND_FOLDER_H
#define CHAOS_CLUSTER_ROUND_FOLDER_H

/* Remove everything in `dir` except history.jsonl. Links are not followed; failures are
 * ignored. */
void folder_keep_history(const char *dir);

#endif
