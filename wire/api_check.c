/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/str.h"
#include "wire/api.h"
#include "wire/api_private.h"

static void set_times(Maglev__HealthCheckInfo *info, const struct l4_check *check)
{
	info->interval = check->schedule.interval;
	info->fast_interval = check->schedule.fast_interval;
	info->down_interval = check->schedule.down_interval;
	info->timeout = check->timeout;
	info->rise = check->rule.rise;
	info->fall = check->rule.fall;
}

/* Always fills the HTTP fields: for other types they are zeroed, which reads as empty. */
static void set_http(Maglev__HealthCheckInfo *info, const struct l4_http_params *http,
		     struct arena *a)
{
	struct buf codes = { 0 };

	l4_codes_print(&http->codes, &codes);
	info->path = wire__text(http->path);
	info->host = wire__text(http->host);
	info->response_code = arena_strndup(a, codes.p, codes.n);
	info->response_regexp = wire__text(http->regexp);
	info->server_name = wire__text(http->server_name);
	info->insecure_skip_verify = http->insecure_skip_verify;
	info->ca_file = wire__text(http->ca.file);
	buf_free(&codes);
}

static void set_talk(Maglev__HealthCheckInfo *info, const struct l4_talk *talk)
{
	info->send = wire__text(talk->send);
	info->send_hex = wire__text(talk->send_hex);
	info->expect = wire__text(talk->expect);
	info->expect_regexp = wire__text(talk->regexp);
}

static void set_dns(Maglev__HealthCheckInfo *info, const struct l4_dns *dns, struct arena *a)
{
	if (!dns->name)
		return;
	info->query_name = wire__text(dns->name);
	info->query_type = wire__text(l4_dns_type_name(dns->type));
	info->expect_rcode = wire__text(l4_dns_rcode_name(dns->rcode));
	info->expect_address = wire__addr(&dns->address, a);
}

/*
 * Checks do not know their backends, so all backends are compared. References are pointers into
 * the same configuration.
 */
static void set_backends(Maglev__HealthCheckInfo *info, const struct l4_config *c,
			 const struct l4_check *check, struct arena *a)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_backends; i++)
		n += c->backends[i].check == check;
	info->backends = arena_array_of(a, n, char *);
	for (size_t i = 0; i < c->n_backends; i++)
		if (c->backends[i].check == check)
			info->backends[info->n_backends++] = wire__text(c->backends[i].name);
}

Maglev__HealthCheckInfo *wire_check(const struct l4_config *c, size_t check, struct arena *a)
{
	Maglev__HealthCheckInfo *info =
		API__NEW(a, Maglev__HealthCheckInfo, maglev__health_check_info__init);
	const struct l4_check *config = &c->checks[check];

	assert(check < c->n_checks);
	info->name = wire__text(config->name);
	info->type = wire__text(l4_check_type_name(config->type));
	info->port = config->port;
	info->ports = wire__text(config->ports == L4_PORTS_VIP ? "vip" : "");
	info->probe_ipv4_src = wire__addr(&config->src4, a);
	info->probe_ipv6_src = wire__addr(&config->src6, a);
	info->keep_alive = config->keep_alive;
	set_times(info, config);
	set_http(info, &config->http, a);
	set_talk(info, &config->talk);
	set_dns(info, &config->dns, a);
	set_backends(info, c, config, a);
	return info;
}

Maglev__ListHealthChecksResponse *wire_checks(const struct l4_config *c, struct arena *a)
{
	Maglev__ListHealthChecksResponse *list = API__NEW(
		a, Maglev__ListHealthChecksResponse, maglev__list_health_checks_response__init);

	list->n_healthchecks = c->n_checks;
	list->healthchecks = arena_array_of(a, c->n_checks, Maglev__HealthCheckInfo *);
	for (size_t i = 0; i < c->n_checks; i++)
		list->healthchecks[i] = wire_check(c, i, a);
	return list;
}
