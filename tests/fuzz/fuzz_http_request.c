/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as a server reads them. */
#include "tests/fuzz/fuzz_http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_http(http_parse_request, data, size);
}
