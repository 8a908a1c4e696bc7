// libudev: which devices there are, and which come and go.
#pragma once

#include <libudev.h>
