/* What the content of a file begins with that is to hang: behind it stands the path of a FIFO. */
#define HANGING_READS_MARK "hangs until "
