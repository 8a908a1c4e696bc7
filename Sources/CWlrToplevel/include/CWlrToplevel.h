// The protocol by which wlroots' compositors tell which windows there are, and the address of what describes it, which Swift has not.
#pragma once

#include <string.h>
#include "wlr-foreign-toplevel-management-unstable-v1-client-protocol.h"

static inline int CWlrToplevel_is_manager(const char *interface) {
    return strcmp(interface, zwlr_foreign_toplevel_manager_v1_interface.name) == 0;
}

static inline struct zwlr_foreign_toplevel_manager_v1 *CWlrToplevel_bind(
    struct wl_registry *registry, uint32_t name, uint32_t version) {
    return wl_registry_bind(registry, name, &zwlr_foreign_toplevel_manager_v1_interface, version);
}
