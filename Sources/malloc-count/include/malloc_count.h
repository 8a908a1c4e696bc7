#ifndef JOSTLE_MALLOC_COUNT_H
#define JOSTLE_MALLOC_COUNT_H

/* The variable that names the file to count into: eight bytes, a native 64-bit number. */
#define MALLOC_COUNT_VARIABLE "JOSTLE_MALLOC_COUNT"

#endif
