/* SPDX-License-Identifier: Apache-2.0 */
/* The pure parts: requests, bad answers, times, credentials of plugins. */
#include "lib/k8s/request.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/units.h"
#include "lib/k8s/discovery.h"
#include "lib/k8s/identity.h"
#include "lib/k8s/lease.h"
#include "lib/k8s/rfc3339.h"

static const struct k8s_resource services = { "", "v1", "services" };
static const struct k8s_resource leases = { "coordination.k8s.io", "v1", "leases" };

static const struct {
	struct k8s_call_config config;
	const char *line, *type, *body;
} requests[] = {
	{ { .verb = K8S_VERB_LIST, .resource = &services }, "GET /p/api/v1/services", NULL, "" },
	{ { .verb = K8S_VERB_LIST, .resource = &services, .namespace = "n", .query = "limit=1" },
	  "GET /p/api/v1/namespaces/n/services?limit=1",
	  NULL,
	  "" },
	{ { .verb = K8S_VERB_GET, .resource = &leases, .namespace = "n", .name = "a/b" },
	  "GET /p/apis/coordination.k8s.io/v1/namespaces/n/leases/a%2Fb",
	  NULL,
	  "" },
	{ { .verb = K8S_VERB_CREATE,
	    .resource = &services,
	    .namespace = "n",
	    .name = "x",
	    .body = { "{}", 2 },
	    .manager = "m" },
	  "POST /p/api/v1/namespaces/n/services?fieldManager=m",
	  "application/json",
	  "{}" },
	{ { .verb = K8S_VERB_UPDATE,
	    .resource = &services,
	    .namespace = "n",
	    .name = "x",
	    .subresource = "status",
	    .body = { "{}", 2 },
	    .dry_run = true },
	  "PUT /p/api/v1/namespaces/n/services/x/status?dryRun=All",
	  "application/json",
	  "{}" },
	{ { .verb = K8S_VERB_MERGE_PATCH,
	    .resource = &services,
	    .namespace = "n",
	    .name = "x",
	    .body = { "{}", 2 } },
	  "PATCH /p/api/v1/namespaces/n/services/x",
	  "application/merge-patch+json",
	  "{}" },
	{ { .verb = K8S_VERB_JSON_PATCH,
	    .resource = &services,
	    .namespace = "n",
	    .name = "x",
	    .body = { "[]", 2 } },
	  "PATCH /p/api/v1/namespaces/n/services/x",
	  "application/json-patch+json",
	  "[]" },
	{ { .verb = K8S_VERB_APPLY,
	    .resource = &services,
	    .namespace = "n",
	    .name = "x",
	    .body = { "{}", 2 },
	    .manager = "a b",
	    .force = true },
	  "PATCH /p/api/v1/namespaces/n/services/x?fieldManager=a%20b&force=true",
	  "application/apply-patch+yaml",
	  "{}" },
	{ { .verb = K8S_VERB_DELETE,
	    .resource = &services,
	    .namespace = "n",
	    .name = "x",
	    .uid = "u",
	    .version = 7,
	    .propagation = "Foreground" },
	  "DELETE /p/api/v1/namespaces/n/services/x",
	  "application/json",
	  "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":"
	  "\"Foreground\","
	  "\"preconditions\":{\"uid\":\"u\",\"resourceVersion\":\"7\"}}" },
	{ { .verb = K8S_VERB_DELETE,
	    .resource = &services,
	    .namespace = "n",
	    .name = "x",
	    .dry_run = true },
	  "DELETE /p/api/v1/namespaces/n/services/x",
	  "application/json",
	  "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"dryRun\":[\"All\"]}" },
	{ { .verb = K8S_VERB_GET, .path = "/version" }, "GET /p/version", NULL, "" },
};

static void verbs_become_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct k8s__request r = { 0 };
		struct buf line = { 0 };

		assert_int_equal(k8s__request_make(&r, "/p", &requests[i].config), 0);
		buf_printf(&line, "%s %s", r.method, buf_cstr(&r.target));
		assert_string_equal(buf_cstr(&line), requests[i].line);
		assert_true(cstr_eq(r.content_type, requests[i].type));
		assert_string_equal(buf_cstr(&r.body), requests[i].body);
		buf_free(&line);
		k8s__request_free(&r);
	}
}

static void wishes_without_a_request_are_refused(void **state)
{
	static const struct k8s_call_config bad[] = {
		{ .verb = K8S_VERB_GET },
		{ .verb = K8S_VERB_GET, .resource = &services },
		{ .verb = K8S_VERB_GET, .resource = &services, .name = "" },
		{ .verb = K8S_VERB_DELETE, .resource = &services },
		{ .verb = K8S_VERB_CREATE, .resource = &services },
		{ .verb = K8S_VERB_APPLY, .resource = &services, .name = "x", .body = { "{}", 2 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct k8s__request r = { 0 };

		assert_int_equal(k8s__request_make(&r, "", &bad[i]), -EINVAL);
		k8s__request_free(&r);
	}
}

static void bad_answers_have_codes(void **state)
{
	static const struct {
		unsigned http;
		const char *body;
		enum k8s_code code;
		const char *reason, *message;
	} rows[] = {
		{ 409, "{\"reason\":\"AlreadyExists\",\"message\":\"is there\"}", K8S_EXISTS,
		  "AlreadyExists", "is there" },
		{ 409, "{\"reason\":\"Conflict\",\"message\":\"m\"}", K8S_CONFLICT, "Conflict",
		  "m" },
		{ 410, "{\"reason\":\"Expired\",\"message\":\"m\"}", K8S_EXPIRED, "Expired", "m" },
		{ 404, "404 page not found\n", K8S_NOT_FOUND, "", "the server answers 404" },
		{ 403, "{\"message\":{\"no\":1},\"reason\":[]}", K8S_FORBIDDEN, "",
		  "the server answers 403" },
		{ 504,
		  "{\"reason\":\"Timeout\",\"message\":\"m\",\"details\":{\"causes\":[{\"reason\":"
		  "\"ResourceVersionTooLarge\"}]}}",
		  K8S_TOO_NEW, "Timeout", "m" },
		{ 504, "{\"details\":{\"causes\":{\"a\":1}}}", K8S_SERVER, "",
		  "the server answers 504" },
		{ 500, "", K8S_SERVER, "", "the server answers 500" },
		{ 302, "", K8S_REFUSED, "", "the server answers 302" },
		{ 422, "{\"message\":\"a\\u001b[2Jb\"}", K8S_INVALID, "", "a\\x1b[2Jb" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct k8s_status s;

		k8s_status_parse(rows[i].http, str_of(rows[i].body), &s);
		assert_int_equal(s.code, rows[i].code);
		assert_string_equal(s.reason, rows[i].reason);
		assert_string_equal(s.message, rows[i].message);
	}
	for (unsigned code = 0; code < K8S_CODES; code++)
		assert_true(k8s_code_name(code)[0]);
}

static void times_are_read_and_written(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2026-11-17T12:00:01Z", 1794916801 * NSEC_PER_SEC },
		{ "2026-11-17T13:00:01+01:00", 1794916801 * NSEC_PER_SEC },
		{ "2026-11-17T11:30:01.5-00:30", 1794916801 * NSEC_PER_SEC + NSEC_PER_SEC / 2 },
		{ "2026-11-17T12:00:01.000001Z", 1794916801 * NSEC_PER_SEC + 1000 },
	};
	static const char *const bad[] = { "",
					   "2026",
					   "2026-11-17",
					   "2026-11-17T12:00:01",
					   "2026-13-17T12:00:01Z",
					   "2026-11-17T12:00:01.Z",
					   "2026-11-17T12:00:01Zx",
					   "2026-11-17T12:00:01+1:00",
					   "2026-11-17 12:00:01Z",
					   "x026-11-17T12:00:01Z",
					   "2300-11-17T12:00:01Z" };
	char text[K8S_MICRO_TIME];
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(k8s_time_parse(str_of(rows[i].text), &ns), 0);
		assert_int_equal(ns, rows[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(k8s_time_parse(str_of(bad[i]), &ns), -EINVAL);
	assert_string_equal(k8s_micro_time(1794916801 * NSEC_PER_SEC + 1999, text),
			    "2026-11-17T12:00:01.000001Z");
}

#define EXEC                                                                                       \
	"{\"apiVersion\":\"client.authentication.k8s.io/"                                          \
	"v1\",\"kind\":\"ExecCredential\",\"status\":"

static void plugins_give_credentials(void **state)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		EXEC "null}",
		EXEC "{}}",
		EXEC "{\"token\":1}}",
		EXEC "{\"clientKeyData\":\"k\"}}",
		EXEC "{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}}",
		"{\"apiVersion\":\"client.authentication.k8s.io/"
		"v1beta1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\"}}",
		"{\"apiVersion\":\"client.authentication.k8s.io/"
		"v1\",\"kind\":\"Other\",\"status\":{\"token\":\"t\"}}",
	};
	const char *version = "client.authentication.k8s.io/v1";
	struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct k8s_credential c;

	(void)state;
	assert_int_equal(
		k8s_credential_parse(
			STR(EXEC
			    "{\"token\":\"t\",\"expirationTimestamp\":\"1970-01-01T00:00:01Z\"}}"),
			version, arena, &c, &errors),
		0);
	assert_string_equal(c.token, "t");
	assert_int_equal(c.expires, NSEC_PER_SEC);
	assert_int_equal(
		k8s_credential_parse(
			STR(EXEC "{\"clientKeyData\":\"k\",\"clientCertificateData\":\"c\"}}"),
			version, arena, &c, &errors),
		0);
	assert_string_equal(c.certificate, "c");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		errors.n = 0;
		assert_int_equal(k8s_credential_parse(str_of(bad[i]), version, arena, &c, &errors),
				 -EINVAL);
		assert_true(errors.n > 0);
	}
	arena_free(arena);
}

static void leases_are_read(void **state)
{
	static const char *const bad[] = {
		"",
		"{}",
		"{\"metadata\":{\"resourceVersion\":7}}",
		"{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"holderIdentity\":1}}",
		"{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"leaseDurationSeconds\":-1}}",
		"{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"leaseDurationSeconds\":"
		"100000000}}",
		"{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"leaseTransitions\":"
		"2147483647}}",
	};
	struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct k8s_lease_record r;

	(void)state;
	assert_int_equal(
		k8s_lease_parse(STR("{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{"
				    "\"holderIdentity\":\"a\","
				    "\"leaseDurationSeconds\":15,\"leaseTransitions\":2}}"),
				arena, &r, &errors),
		0);
	assert_string_equal(r.holder, "a");
	assert_string_equal(r.version, "7");
	assert_int_equal(r.duration, 15 * NSEC_PER_SEC);
	assert_int_equal(r.transitions, 2);
	assert_int_equal(k8s_lease_parse(STR("{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{"
					     "\"holderIdentity\":null}}"),
					 arena, &r, &errors),
			 0);
	assert_string_equal(r.holder, "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(k8s_lease_parse(str_of(bad[i]), arena, &r, &errors), -EINVAL);
	arena_free(arena);
}

static void lists_of_resources_are_read(void **state)
{
	(void)state;
	assert_int_equal(k8s_discovery_parse(
				 STR("{\"resources\":[{\"name\":\"a/status\"},{\"name\":\"a\"}]}"),
				 "a"),
			 1);
	assert_int_equal(
		k8s_discovery_parse(STR("{\"resources\":[{\"name\":\"ab\"},{\"name\":7},8]}"), "a"),
		0);
	assert_int_equal(k8s_discovery_parse(STR("{\"resources\":{}}"), "a"), -EINVAL);
	assert_int_equal(k8s_discovery_parse(STR("{}"), "a"), -EINVAL);
	assert_int_equal(k8s_discovery_parse(STR("hello"), "a"), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(verbs_become_requests),
		cmocka_unit_test(wishes_without_a_request_are_refused),
		cmocka_unit_test(bad_answers_have_codes),
		cmocka_unit_test(times_are_read_and_written),
		cmocka_unit_test(plugins_give_credentials),
		cmocka_unit_test(leases_are_read),
		cmocka_unit_test(lists_of_resources_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
