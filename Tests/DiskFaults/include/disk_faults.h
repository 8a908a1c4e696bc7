/* Names the file whose first byte says what goes wrong: a DISK_FAULT_* as a character. */
#define DISK_FAULTS_VARIABLE "DISK_FAULTS"

/* Nothing. */
#define DISK_FAULT_NONE '0'
/* What is written does not come to the disk: EIO. */
#define DISK_FAULT_WRITE '1'
/* There is no room: ENOSPC. */
#define DISK_FAULT_FULL '2'
/* What was written does not stay: EIO from fsync. */
#define DISK_FAULT_SYNC '3'
/* Nothing answers as long as this stands there. */
#define DISK_FAULT_STALL '4'
/* A directory is not listed to its end: EIO. */
#define DISK_FAULT_LIST '5'
/* No directory is watched: EMFILE. */
#define DISK_FAULT_WATCH '6'
/* The second commit to an empty -wal, of one page as the first, is written and does not stay: EIO from fsync. */
#define DISK_FAULT_SECOND_COMMIT '7'
/* What is written stays, but it takes a third of a second each time. */
#define DISK_FAULT_SLOW '9'

/* What stands behind the first two pages of a file NAME.db cannot be read: EIO. */
#define DISK_FAULT_READ '8'

/* Whatever is named *.conf, or stands below such a directory, is not opened as long as this stands there, as where the file system is a server that is gone. */
#define DISK_FAULT_HANG 'a'

/* The quota of whoever writes is used up: EDQUOT. */
#define DISK_FAULT_QUOTA 'b'

/* No descriptor is left for a file *.conf, or for *.cursor: EMFILE. */
#define DISK_FAULT_NO_CONF 'c'
#define DISK_FAULT_NO_CURSOR 'd'

/* The user has no watch left: ENOSPC. */
#define DISK_FAULT_NO_WATCHES 'e'

/* Names the directory that has of each file what the disk was told last to keep: what is there when the power fails. */
#define DISK_KEPT_VARIABLE "DISK_KEPT"
