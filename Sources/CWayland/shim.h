// libwayland-client: the connection to a compositor.
#pragma once

#include <wayland-client.h>

// The library writes what it finds wrong to standard error, in words of the compositor's. We say it ourselves.
static inline void CWayland_ignore(const char *format, va_list arguments) {
    (void)format;
    (void)arguments;
}
static inline void CWayland_be_silent(void) { wl_log_set_handler_client(CWayland_ignore); }
