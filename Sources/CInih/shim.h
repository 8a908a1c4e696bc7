// What Swift needs of libinih. Its options are globals, so they are set here, all to what our files look like.
#pragma once

#include <ini.h>
#include <stdbool.h>

// The longest line, with its line feed and the NUL behind it.
#define CINIH_LINE_BYTES 4096

static const int CInih_lineBytes = CINIH_LINE_BYTES;

// To be called once, before the first parse: '#' is the one way to comment, a line is one assignment, and one without
// a value is handed over, so that we can say what is wrong with it.
static inline void CInih_configure(void) {
    ini_allow_multiline = false;
    ini_allow_bom = false;
    ini_start_comment_prefixes = (char *)"#";
    ini_allow_inline_comments = false;
    ini_use_stack = false;
    ini_max_line = CINIH_LINE_BYTES;
    ini_initial_alloc = CINIH_LINE_BYTES;
    ini_allow_realloc = false;
    ini_stop_on_first_error = false;
    ini_allow_no_value = true;
}

// The state is handed to both callbacks.
static inline int CInih_parse(ini_reader reader, ini_handler handler, void *state) {
    return ini_parse_stream(reader, state, handler, state);
}
