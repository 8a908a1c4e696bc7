// libxcb: the connection to an X server, and its extension by which it says whose windows are. What describes the extension is a
// variable, which Swift does not take the address of. And libXau: the file of what servers want to see.
#pragma once

#include <X11/Xauth.h>
#include <string.h>
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

// What the file has for a display of this machine, of the one kind that is shown as it stands there; NULL when it has nothing.
// XauDisposeAuth frees it.
static inline Xauth *CXCB_authority(const char *host, const char *display) {
    char kind[] = "MIT-MAGIC-COOKIE-1", *kinds = kind;
    const int length = sizeof kind - 1;
    return XauGetBestAuthByAddr(FamilyLocal, strlen(host), host, strlen(display), display, 1, &kinds, &length);
}
