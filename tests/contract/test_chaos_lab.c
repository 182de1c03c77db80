/* chaos/cluster/lab.h: components that reach one another, and the file that describes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/contract/lab_scene.h"

/* All components reach one another, and processes in the hub reach them. */
static void components_reach_one_another(void **state)
{
    (void)state;
    for (unsigned i = 0; i < COMPONENTS; i++) {
        for (unsigned j = 0; j < COMPONENTS; j++) { assert_true(can_reach(names[i], names[j])); }
    }
    struct sockaddr_in address = address_of("ps:1");
    int listener = listen_in("ps:1"), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)(void *)&address, sizeof address), 0);
    close(fd);
    close(listener);
}

/* `tanist run --networks` can read the file that the lab writes. */
static void networks_file_is_read(void **state)
{
    (void)state;
    struct networks *networks = calloc(1, sizeof *networks);
    const struct network *found;
    assert_non_null(networks);
    assert_int_equal(networks_read(networks, networks_path, &error), TN_OK);
    assert_int_equal(networks->count, COMPONENTS);
    assert_int_equal(networks_find(networks, "ps:1", &found, &error), TN_OK);
    assert_string_equal(found->address, lab_address(lab, "ps:1"));
    int fd = open(found->path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(setns(fd, CLONE_NEWNET), 0);
    assert_int_equal(setns(hub, CLONE_NEWNET), 0);
    close(fd);
    assert_int_equal(networks_find(networks, "ps:2", &found, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "ps:2"));
    free(networks);
}

/* The output of a command that fails is in the error; so is the name of an unknown component. */
static void failures_are_reported(void **state)
{
    (void)state;
    static const char *const wrong[] = {"ip", "link", "set", "nobody", "up", NULL};
    static const char *const missing[] = {"tanist-no-such-program", NULL};
    assert_int_equal(lab_command(lab, "ps:0", wrong, &error), TN_ENOTSUP);
    assert_non_null(strstr(error.text, "nobody"));
    assert_int_equal(lab_command(lab, "ps:0", missing, &error), TN_ENOTSUP);
    assert_int_equal(lab_nft(lab, "ps:0", "nonsense\n", &error), TN_ENOTSUP);
    assert_int_equal(lab_nft(lab, "ps:7", "", &error), TN_ENOTSUP);
    assert_non_null(strstr(error.text, "ps:7"));
    assert_null(lab_address(lab, "ps:7"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(components_reach_one_another),
        cmocka_unit_test(networks_file_is_read),
        cmocka_unit_test(failures_are_reported),
    };
    return RUN_IN_LAB(tests);
}
