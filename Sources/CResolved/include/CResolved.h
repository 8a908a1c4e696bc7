// Lets a library that asks for the address of a name have the one that we know already.
//
// libmosquitto asks with getaddrinfo, which waits for the network, and takes no descriptor of ours. So the name is resolved
// elsewhere, and said here before the library asks. It keeps the name, which the certificate of the server must have.
#pragma once

// Until this is called again, getaddrinfo answers for this name with this numeric address; two NULLs: with what there is. For
// this thread alone. Returns 0, or -1 when one of them is too long.
int CResolved_answer(const char *name, const char *address);
