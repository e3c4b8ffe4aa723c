/* SPDX-License-Identifier: Apache-2.0 */
/* Responses as a probe or a router reads them. */
#include "tests/fuzz/fuzz_http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_http(http_parse_response, data, size);
}
