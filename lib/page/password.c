/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/page/password.h"

#include <crypt.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

_Static_assert(PAGE_HASH_SIZE >= CRYPT_OUTPUT_SIZE, "a hash fits");

bool page_password_is_hash(const char *hash)
{
	return crypt_checksalt(hash) == CRYPT_SALT_OK;
}

/* The struct is too large for a stack, and has traces of the password. */
static bool hash_with(const char *password, const char *setting, char ret[static PAGE_HASH_SIZE])
{
	struct crypt_data *data = mem_zalloc(sizeof(*data));
	const char *made = crypt_r(password, setting, data);
	bool ok = made && *made != '*' && strlen(made) < PAGE_HASH_SIZE;

	if (ok)
		memcpy(ret, made, strlen(made) + 1);
	explicit_bzero(data, sizeof(*data));
	free(data);
	return ok;
}

bool page_password_matches(const char *password, const char *hash)
{
	char made[PAGE_HASH_SIZE];
	volatile unsigned difference = 0;

	if (!hash_with(password, hash, made) || strlen(made) != strlen(hash))
		return false;
	for (size_t i = 0; hash[i]; i++)
		difference |= (unsigned char)made[i] ^ (unsigned char)hash[i];
	return !difference;
}

int page_password_hash(const char *password, char ret[static PAGE_HASH_SIZE])
{
	char setting[CRYPT_GENSALT_OUTPUT_SIZE];

	if (!crypt_gensalt_rn("$y$", 0, NULL, 0, setting, sizeof(setting)))
		return -errno;
	return hash_with(password, setting, ret) ? 0 : -EINVAL;
}
