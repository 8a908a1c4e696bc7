#ifndef JOSTLE_CCRYPTO_SHIM_H
#define JOSTLE_CCRYPTO_SHIM_H

#include <openssl/evp.h>
#include <openssl/pem.h>

// What is a macro there.
static inline int CCrypto_id(const EVP_PKEY *key) { return EVP_PKEY_get_base_id(key); }
static const int CCrypto_ed25519 = EVP_PKEY_ED25519;

#endif
