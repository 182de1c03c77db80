/* cli/chaos/chaos_report.c: `tanist chaos report DIR`: write the report of a campaign again. */
#include <assert.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "chaos/report/report.h"
#include "cli/chaos/chaos.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "tanist/status.h"

enum { PATTERN_BYTES = 4096, REPORT_PATH_BYTES = PATTERN_BYTES + 16 };

/* Rounds are numbered with leading zeros, so the order of their names is that of their numbers. */
static enum tn_status write_report(const char *dir, struct error *error)
{
    glob_t found;
    char pattern[PATTERN_BYTES];
    int length = snprintf(pattern, sizeof pattern, "%s/round-*/history.jsonl", dir);
    if (length < 0 || (size_t)length >= sizeof pattern) {
        return error_set(error, TN_EINVAL, "the path DIR is too long: give at most 4000 bytes");
    }
    assert(dir != NULL);
    int failed = glob(pattern, 0, NULL, &found);
    if (failed == GLOB_NOMATCH) {
        return error_set(error, TN_ENOENT,
                         "%s contains no round-*/history.jsonl: give the --dir of a campaign", dir);
    }
    if (failed != 0) { return error_set(error, TN_EIO, "cannot search for %s", pattern); }
    enum tn_status status =
        report_write(dir, (const char *const *)found.gl_pathv, found.gl_pathc, error);
    globfree(&found);
    return status;
}

static int print_files(const char *dir)
{
    char html[REPORT_PATH_BYTES], json[REPORT_PATH_BYTES];
    (void)snprintf(html, sizeof html, "%s/report.html", dir);
    (void)snprintf(json, sizeof json, "%s/report.json", dir);
    return output_json(json_pack("{s:i, s:s, s:s}", "version", 1, "html", html, "json", json),
                       JSON_INDENT(2));
}

int chaos_report(int argc, char **argv)
{
    struct options options = {
        .command = "chaos report",
        .synopsis = "DIR [OPTION]...",
        .about =
            "Write DIR/report.html and DIR/report.json again, from the histories of the rounds "
            "of a campaign.\n`tanist chaos run` writes them when it ends; this command helps "
            "after it was killed.",
        .examples = "  tanist chaos report runs/chaos-everything-1\n"};
    const char *dir = NULL, *output = NULL;
    int exit_code = 0;
    struct error error = {0};
    options_folder(&options, &dir, true, "Folder of the campaign; the same as the argument DIR.");
    output_option_text(&options, &output);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    if (write_report(dir, &error) != TN_OK) { return command_failed(&error); }
    if (output_is_json(output)) { return print_files(dir); }
    printf("%s/report.html\n", dir);
    return TN_EXIT_OK;
}
