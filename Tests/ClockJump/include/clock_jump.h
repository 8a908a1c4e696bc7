/*
 * Names the file whose first eight bytes say by how many seconds the wall clock is off, and the next eight by how many hours the
 * local time is ahead of UTC: signed integers of the machine's.
 */
#define CLOCK_JUMP_VARIABLE "CLOCK_JUMP"
