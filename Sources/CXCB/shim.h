// libxcb: the connection to an X server, and its extension by which it says whose windows are. What describes the extension is a
// variable, which Swift does not take the address of.
#pragma once

#include <xcb/res.h>
#include <xcb/xcb.h>
#include <xcb/xcbext.h>

// Asks whether the server has the extension.
static inline void CXCB_ask_for_res(xcb_connection_t *connection) { xcb_prefetch_extension_data(connection, &xcb_res_id); }

// Whether it has. Waits for the answer if that has not come.
static inline int CXCB_has_res(xcb_connection_t *connection) {
    const xcb_query_extension_reply_t *answer = xcb_get_extension_data(connection, &xcb_res_id);
    return answer && answer->present;
}
