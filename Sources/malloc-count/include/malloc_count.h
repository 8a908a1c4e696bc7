#ifndef JOSTLE_MALLOC_COUNT_H
#define JOSTLE_MALLOC_COUNT_H

/* The variable that names the file to count into: two native 64-bit numbers, of all threads and of the first one. */
#define MALLOC_COUNT_VARIABLE "JOSTLE_MALLOC_COUNT"

#endif
