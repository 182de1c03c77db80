/*
 * tests/contract/crash_states.h: the states in which a loss of power can leave a folder. While a
 * recording runs, each system call that changes a folder or syncs is preceded by a snapshot of the
 * recorded folder, and all states that a disk may hold at that moment are made in another folder,
 * one after the other, and given to a check:
 *
 *   - a folder has the entries of its last sync, or those of any moment since;
 *   - a file has the contents of its last sync (none if there was none), or half of its contents,
 *     the rest zeros, or all of them.
 *
 * So entries and contents reach the disk in any order between syncs, and a rename whose folder was
 * not synced may be lost. The functions below replace those of libc in this program, also for LMDB.
 */
#ifndef TESTS_CONTRACT_CRASH_STATES_H
#define TESTS_CONTRACT_CRASH_STATES_H

#include "tests/contract/store_fixture.h"

#include <sys/syscall.h>

enum { INODES = 128, VERSIONS = 64, ENTRIES = 16, ENTRY_NAME = 64 };

/* The contents of an inode at one moment: the entries of a folder, or the bytes of a file. */
struct version {
    size_t count;
    struct {
        char name[ENTRY_NAME];
        size_t inode;
    } entries[ENTRIES];
    uint8_t *bytes;
};

struct inode {
    int hold; /* Keeps its number from being used again. */
    ino_t number;
    bool is_folder;
    size_t versions, durable; /* The first version is empty. */
    struct version *list[VERSIONS];
    size_t chosen;
    bool reachable;
};

enum file_choice { FILE_SYNCED, FILE_HALF, FILE_WHOLE, FILE_CHOICES };

static struct crash_recording {
    bool active;
    char path[PATH_MAX], crashed[PATH_MAX]; /* The recorded folder; the one for the states. */
    void (*check)(const char *crashed);
    size_t inodes, states;
    struct inode list[INODES];
    enum file_choice file_choice;
} recording;

/* ---------------------------------------------------------------- snapshots */

static inline struct version *last_version(const struct inode *inode)
{
    return inode->list[inode->versions - 1];
}

static inline void add_version(struct inode *inode, const struct version *version)
{
    assert_true(inode->versions < VERSIONS);
    struct version *copy = malloc(sizeof *copy);
    assert_non_null(copy);
    *copy = *version;
    inode->list[inode->versions++] = copy;
}

static inline size_t inode_at(const char *path)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    for (size_t i = 0; i < recording.inodes; i++) {
        if (recording.list[i].number == info.st_ino) { return i; }
    }
    assert_true(recording.inodes < INODES);
    struct inode *inode = &recording.list[recording.inodes];
    *inode = (struct inode){.hold = open(path, O_RDONLY | O_CLOEXEC),
                            .number = info.st_ino,
                            .is_folder = S_ISDIR(info.st_mode)};
    assert_true(inode->hold >= 0);
    add_version(inode, &(struct version){0});
    return recording.inodes++;
}

static inline void snap_file(struct inode *inode)
{
    struct stat info;
    struct version now = {0};
    assert_int_equal(fstat(inode->hold, &info), 0);
    now.count = (size_t)info.st_size;
    now.bytes = calloc(1, now.count + 1);
    assert_non_null(now.bytes);
    assert_int_equal(pread(inode->hold, now.bytes, now.count, 0), info.st_size);
    const struct version *last = last_version(inode);
    if (now.count == last->count &&
        (now.count == 0 || memcmp(now.bytes, last->bytes, now.count) == 0)) {
        free(now.bytes);
        return;
    }
    add_version(inode, &now);
}

static inline void snap(const char *path)
{
    struct dirent **names;
    struct version now = {0};
    size_t index = inode_at(path);
    if (!recording.list[index].is_folder) {
        snap_file(&recording.list[index]);
        return;
    }
    int count = scandir(path, &names, NULL, alphasort);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        char inside[PATH_MAX];
        const char *name = names[i]->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            assert_true(now.count < ENTRIES && strlen(name) < ENTRY_NAME);
            (void)snprintf(inside, sizeof inside, "%s/%s", path, name);
            strcpy(now.entries[now.count].name, name);
            now.entries[now.count++].inode = inode_at(inside);
            snap(inside);
        }
        free(names[i]);
    }
    free(names);
    if (memcmp(&now, last_version(&recording.list[index]), sizeof now) != 0) {
        add_version(&recording.list[index], &now);
    }
}

/* ------------------------------------------------------------------- states */

static inline void find_reachable(size_t index)
{
    struct inode *inode = &recording.list[index];
    if (inode->reachable) { return; }
    inode->reachable = true;
    inode->chosen = inode->durable;
    for (size_t v = inode->durable; inode->is_folder && v < inode->versions; v++) {
        for (size_t e = 0; e < inode->list[v]->count; e++) {
            find_reachable(inode->list[v]->entries[e].inode);
        }
    }
}

static inline void make_file(const char *path, const struct inode *inode)
{
    const struct version *whole = last_version(inode), *synced = inode->list[inode->durable];
    const struct version *source = recording.file_choice == FILE_SYNCED ? synced : whole;
    bool half = recording.file_choice == FILE_HALF && inode->durable + 1 < inode->versions;
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    size_t written = half ? source->count / 2 : source->count;
    if (written > 0) { assert_int_equal(write(fd, source->bytes, written), written); }
    assert_int_equal(ftruncate(fd, (off_t)source->count), 0);
    close(fd);
}

static inline void make_state(const char *path, size_t index)
{
    const struct inode *inode = &recording.list[index];
    if (!inode->is_folder) {
        make_file(path, inode);
        return;
    }
    assert_int_equal(mkdir(path, 0700), 0);
    const struct version *version = inode->list[inode->chosen];
    for (size_t e = 0; e < version->count; e++) {
        char inside[PATH_MAX];
        int length = snprintf(inside, sizeof inside, "%s/%s", path, version->entries[e].name);
        assert_true(length > 0 && (size_t)length < sizeof inside);
        make_state(inside, version->entries[e].inode);
    }
}

/* The next combination of the folders' entries; false: there is none. */
static inline bool next_choice(void)
{
    for (size_t i = 0; i < recording.inodes; i++) {
        struct inode *inode = &recording.list[i];
        if (!inode->reachable || !inode->is_folder) { continue; }
        if (++inode->chosen < inode->versions) { return true; }
        inode->chosen = inode->durable;
    }
    return false;
}

static inline bool has_unsynced_file(void)
{
    for (size_t i = 0; i < recording.inodes; i++) {
        const struct inode *inode = &recording.list[i];
        if (inode->reachable && !inode->is_folder && inode->durable + 1 < inode->versions) {
            return true;
        }
    }
    return false;
}

/* Check every state that a loss of power can leave now. */
static inline void crash_check_all(void)
{
    bool was_active = recording.active;
    recording.active = false;
    snap(recording.path);
    for (size_t i = 0; i < recording.inodes; i++) { recording.list[i].reachable = false; }
    size_t root = inode_at(recording.path);
    find_reachable(root);
    enum file_choice choices = has_unsynced_file() ? FILE_CHOICES : 1;
    do {
        for (recording.file_choice = 0; recording.file_choice < choices; recording.file_choice++) {
            make_state(recording.crashed, root);
            recording.check(recording.crashed);
            remove_tree(recording.crashed);
            recording.states++;
        }
    } while (next_choice());
    recording.active = was_active;
}

static inline void crash_record(const char *path, void (*check)(const char *crashed))
{
    recording = (struct crash_recording){.check = check};
    (void)snprintf(recording.path, sizeof recording.path, "%s", path);
    (void)snprintf(recording.crashed, sizeof recording.crashed, "%.4000s.crashed", path);
    snap(path); /* The folder itself is durable. */
    recording.list[0].durable = recording.list[0].versions - 1;
    recording.active = true;
}

static inline void crash_end(void)
{
    recording.active = false;
    for (size_t i = 0; i < recording.inodes; i++) {
        struct inode *inode = &recording.list[i];
        for (size_t v = 0; v < inode->versions; v++) {
            if (!inode->is_folder) { free(inode->list[v]->bytes); }
            free(inode->list[v]);
        }
        close(inode->hold);
    }
    remove_tree(recording.crashed);
}

/* ------------------------------------------------------------- system calls */

static inline int synced(int fd, int result)
{
    struct stat info;
    if (!recording.active || result != 0 || fstat(fd, &info) != 0) { return result; }
    for (size_t i = 0; i < recording.inodes; i++) {
        struct inode *inode = &recording.list[i];
        if (inode->number == info.st_ino) { inode->durable = inode->versions - 1; }
    }
    return result;
}

#define CHANGE(call) return (recording.active ? crash_check_all() : (void)0), (int)(call)

int fsync(int fd)
{
    if (recording.active) { crash_check_all(); }
    return synced(fd, (int)syscall(SYS_fsync, fd));
}

int fdatasync(int fd)
{
    if (recording.active) { crash_check_all(); }
    return synced(fd, (int)syscall(SYS_fdatasync, fd));
}

int rename(const char *from, const char *to)
{
    CHANGE(syscall(SYS_rename, from, to));
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    CHANGE(syscall(SYS_renameat, from_fd, from, to_fd, to));
}

int mkdir(const char *path, mode_t mode)
{
    CHANGE(syscall(SYS_mkdir, path, mode));
}

int unlink(const char *path)
{
    CHANGE(syscall(SYS_unlink, path));
}

int unlinkat(int fd, const char *path, int flags)
{
    CHANGE(syscall(SYS_unlinkat, fd, path, flags));
}

int rmdir(const char *path)
{
    CHANGE(syscall(SYS_rmdir, path));
}

#endif
