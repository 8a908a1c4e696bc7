/* Names the file whose first eight bytes say by how many seconds the wall clock is off: a signed integer of the machine's. */
#define CLOCK_JUMP_VARIABLE "CLOCK_JUMP"
