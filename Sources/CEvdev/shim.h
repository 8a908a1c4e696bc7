// libevdev: input devices. Its macros as typed constants, and its enums as the integers that it also takes.
#pragma once

#include <libevdev/libevdev.h>
#include <libevdev/libevdev-uinput.h>

static const unsigned int CEvdev_ABS_X = ABS_X;
static const unsigned int CEvdev_ABS_RX = ABS_RX;
static const unsigned int CEvdev_EV_SW = EV_SW;
static const unsigned int CEvdev_SW_TABLET_MODE = SW_TABLET_MODE;
static const unsigned int CEvdev_SW_FRONT_PROXIMITY = SW_FRONT_PROXIMITY;
static const unsigned int CEvdev_INPUT_PROP_ACCELEROMETER = INPUT_PROP_ACCELEROMETER;

// Takes the next event off the queue: 0, 1 when the kernel dropped some and the rest tells the difference, -EAGAIN when
// there is none, or another negative error number.
static inline int CEvdev_advance(struct libevdev *device, int is_syncing) {
    struct input_event event;
    return libevdev_next_event(
        device, is_syncing ? LIBEVDEV_READ_FLAG_SYNC : LIBEVDEV_READ_FLAG_NORMAL, &event);
}

// Makes an input device as described, through /dev/uinput, which is opened and closed with it: 0 or a negative error number.
static inline int CEvdev_make(const struct libevdev *description, struct libevdev_uinput **device) {
    return libevdev_uinput_create_from_device(description, LIBEVDEV_UINPUT_OPEN_MANAGED, device);
}

// Sends one value of such a device, and says that it is all: 0 or a negative error number.
static inline int CEvdev_set(const struct libevdev_uinput *device, unsigned int type, unsigned int code, int value) {
    int result = libevdev_uinput_write_event(device, type, code, value);
    return result != 0 ? result : libevdev_uinput_write_event(device, EV_SYN, SYN_REPORT, 0);
}
