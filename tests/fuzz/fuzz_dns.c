/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of a DNS server: the first byte chooses the type, the rest is the answer to one fixed
 * question. What is found must be within its bounds.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/net/dns_files.h"
#include "lib/net/dns_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_question q = { .id = 0x1234 };
	struct dns_settings settings;
	struct dns_answer answer;
	struct addr found[4];
	int r;

	if (!size)
		return 0;
	q.type = *data & 1 ? DNS_AAAA : DNS_A;
	r = dns_name_parse("www.example.com", &q.name);
	assert(r == 0);
	r = dns_read_answer(data + 1, size - 1, &q, &answer);
	assert(r < 0 || answer.n <= DNS_ADDRESSES);
	assert(r < 0 || (answer.verdict == DNS_FOUND) == (answer.n > 0));
	dns_settings_parse((struct str){ (const char *)data, size }, &settings);
	assert(settings.n_servers && settings.attempts && settings.timeout > 0);
	assert(dns_hosts_find((struct str){ (const char *)data, size }, "a", found, 4) <= 4);
	return 0;
}
