/*
 * test-rows: prints what a query finds in a file of SQLite, a row a line, as another program reads it that the broker
 * knows nothing of.
 *
 *     test-rows FILE QUERY [SEPARATOR]
 */
#include <sqlite3.h>
#include <stdio.h>

static void print(sqlite3_stmt *row, const char *separator) {
    for (int column = 0; column < sqlite3_column_count(row); column++) {
        const unsigned char *text = sqlite3_column_text(row, column);
        printf("%s%s", column == 0 ? "" : separator, text == NULL ? "None" : (const char *)text);
    }
    putchar('\n');
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4) {
        fputs("usage: test-rows FILE QUERY [SEPARATOR]\n", stderr);
        return 2;
    }
    sqlite3 *file = NULL;
    sqlite3_stmt *query = NULL;
    int result = sqlite3_open_v2(argv[1], &file, SQLITE_OPEN_READONLY, NULL);
    if (result == SQLITE_OK) {
        sqlite3_busy_timeout(file, 5000);
        result = sqlite3_prepare_v2(file, argv[2], -1, &query, NULL);
    }
    if (result == SQLITE_OK)
        while ((result = sqlite3_step(query)) == SQLITE_ROW)
            print(query, argc == 4 ? argv[3] : " ");
    if (result != SQLITE_DONE)
        fprintf(stderr, "%s: %s\n", argv[1], sqlite3_errmsg(file));
    sqlite3_finalize(query);
    sqlite3_close(file);
    return result == SQLITE_DONE ? 0 : 1;
}
