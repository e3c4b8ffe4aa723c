/* SPDX-License-Identifier: Apache-2.0 */
/* The valid document, and what a row does to it. */
#include "core/l4/validate_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct place next_place(struct fixture *f)
{
	f->touched = (struct place){ .line = ++f->line, .column = 7 };
	return f->touched;
}

void set_text(struct fixture *f, struct doc_text *d, const char *v)
{
	*d = (struct doc_text){ true, next_place(f), v };
}

void set_number(struct fixture *f, struct doc_int *d, int64_t v)
{
	*d = (struct doc_int){ true, next_place(f), v };
}

void set_duration(struct fixture *f, struct doc_duration *d, int64_t v)
{
	*d = (struct doc_duration){ true, next_place(f), v };
}

void set_flag(struct fixture *f, struct doc_bool *d, bool v)
{
	*d = (struct doc_bool){ true, next_place(f), v };
}

/* Replaces the library that compiles regular expressions. */
static bool regexp_ok(const char *pattern, char *reason, size_t reason_size)
{
	if (!strchr(pattern, '('))
		return true;
	snprintf(reason, reason_size, "missing closing parenthesis");
	return false;
}

static void make_checks(struct fixture *f)
{
	struct doc_check *web = &f->check[WEB];

	*web = (struct doc_check){ .name = "web", .at = next_place(f) };
	set_text(f, &web->type, "https");
	set_number(f, &web->port, 80);
	set_duration(f, &web->interval, 5 * S);
	set_duration(f, &web->fast_interval, 500 * MS);
	set_duration(f, &web->down_interval, 10 * S);
	set_duration(f, &web->timeout, 2 * S);
	set_number(f, &web->rise, 4);
	set_number(f, &web->fall, 1);
	set_flag(f, &web->keep_alive, true);
	set_text(f, &web->probe_ipv4_src, "192.0.2.7");
	set_text(f, &web->probe_ipv6_src, "2001:db8::7");
	web->params.set = true;
	web->params.at = next_place(f);
	set_text(f, &web->params.path, "/healthz?deep=1");
	set_text(f, &web->params.host, "www.example.net");
	set_text(f, &web->params.response_code, "200, 204,300-399");
	set_text(f, &web->params.response_regexp, "^OK");
	set_text(f, &web->params.server_name, "sni.example.net");
	set_flag(f, &web->params.insecure_skip_verify, true);

	f->check[PING] = (struct doc_check){ .name = "ping", .at = next_place(f) };
	set_text(f, &f->check[PING].type, "icmp");
	f->check[CONN] = (struct doc_check){ .name = "conn", .at = next_place(f) };
	set_text(f, &f->check[CONN].type, "tcp");
	set_number(f, &f->check[CONN].port, 53);
}

static void make_backends(struct fixture *f)
{
	static const char *const rows[][3] = {
		[WEB1] = { "web1", "10.0.0.11", "web" },
		[WEB2] = { "web2", "10.0.0.12", "ping" },
		[WEB9] = { "web9", "10.0.0.19", NULL },
		[SIX] = { "six", "2001:db8:1::1", "conn" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		f->backend[i] = (struct doc_backend){ .name = rows[i][0], .at = next_place(f) };
		set_text(f, &f->backend[i].address, rows[i][1]);
		if (rows[i][2])
			set_text(f, &f->backend[i].healthcheck, rows[i][2]);
	}
	set_flag(f, &f->backend[WEB9].enabled, false);
}

void make_pool(struct fixture *f, struct doc_pool *pool, const char *name,
	       struct doc_member *members, size_t n)
{
	*pool = (struct doc_pool){ .at = next_place(f), .members = members, .n_members = n };
	set_text(f, &pool->name, name);
}

static void make_frontend(struct fixture *f, size_t i, const char *name, const char *address)
{
	f->frontend[i] = (struct doc_frontend){ .name = name, .at = next_place(f) };
	set_text(f, &f->frontend[i].address, address);
}

static void make_frontends(struct fixture *f)
{
	make_frontend(f, F_WWW, "www", "198.51.100.10");
	set_text(f, &f->frontend[F_WWW].description, "public web");
	set_text(f, &f->frontend[F_WWW].protocol, "tcp");
	set_number(f, &f->frontend[F_WWW].port, 80);
	set_flag(f, &f->frontend[F_WWW].src_ip_sticky, true);
	set_flag(f, &f->frontend[F_WWW].flush_on_down, false);
	f->primary[0] = (struct doc_member){ .backend = "web2", .at = next_place(f) };
	set_number(f, &f->primary[0].weight, 30);
	f->primary[1] = (struct doc_member){ .backend = "web1", .at = next_place(f) };
	f->fallback[0] = (struct doc_member){ .backend = "web9", .at = next_place(f) };
	make_pool(f, &f->www_pool[0], "primary", f->primary, 2);
	make_pool(f, &f->www_pool[1], "fallback", f->fallback, 1);
	f->frontend[F_WWW].pools = f->www_pool;
	f->frontend[F_WWW].n_pools = 2;

	make_frontend(f, F_SIX, "six", "2001:db8::10");
	set_text(f, &f->frontend[F_SIX].protocol, "udp");
	set_number(f, &f->frontend[F_SIX].port, 53);
	f->six[0] = (struct doc_member){ .backend = "six", .at = next_place(f) };
	make_pool(f, &f->six_pool[0], "only", f->six, 1);
	f->frontend[F_SIX].pools = f->six_pool;
	f->frontend[F_SIX].n_pools = 1;

	make_frontend(f, F_ALL, "all", "198.51.100.20");
	f->all[0] = (struct doc_member){ .backend = "web1", .at = next_place(f) };
	make_pool(f, &f->all_pool[0], "only", f->all, 1);
	f->frontend[F_ALL].pools = f->all_pool;
	f->frontend[F_ALL].n_pools = 1;
}

static void make_doc(struct fixture *f)
{
	f->doc = (struct l4_doc){
		.checks = f->check,
		.n_checks = ARRAY_SIZE(f->check),
		.backends = f->backend,
		.n_backends = ARRAY_SIZE(f->backend),
		.frontends = f->frontend,
		.n_frontends = ARRAY_SIZE(f->frontend),
	};
	f->doc.lb.set = true;
	f->doc.lb.at = next_place(f);
	set_text(f, &f->doc.lb.ipv4_src_address, "192.0.2.1");
	set_text(f, &f->doc.lb.ipv6_src_address, "2001:db8::1");
}

void fixture_begin(struct fixture *f)
{
	*f = (struct fixture){ .arena = arena_new(), .rules.regexp_ok = regexp_ok };
	f->errors.arena = f->warnings.arena = f->arena;
	make_checks(f);
	make_backends(f);
	make_frontends(f);
	make_doc(f);
}

void fixture_end(struct fixture *f)
{
	arena_free(f->arena);
}

int fixture_build(struct fixture *f)
{
	return l4_config_build(&f->doc, &f->rules, f->arena, &f->config, &f->errors, &f->warnings);
}

static void print_all(const struct fixture *f)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	errs_print(&f->errors, "error", &out);
	errs_print(&f->warnings, "warning", &out);
	if (out.n)
		print_message("# %s", buf_cstr(&out));
}

/* A document without mistakes is accepted without a complaint. */
void assert_clean(struct fixture *f)
{
	int r = fixture_build(f);

	if (r < 0 || f->warnings.n)
		print_all(f);
	assert_int_equal(r, 0);
	assert_int_equal(f->errors.n, 0);
	assert_int_equal(f->warnings.n, 0);
}

void use_xdp(struct fixture *f)
{
	f->doc.xdp.set = true;
	f->doc.xdp.at = next_place(f);
	set_text(f, &f->interface[0], "eth0");
	f->doc.xdp.interfaces.items = f->interface;
	f->doc.xdp.interfaces.n = 1;
}

void use_none(struct fixture *f)
{
	set_text(f, &f->doc.dataplane, "none");
}

static void apply(struct fixture *f, const struct row *row)
{
	void *field = (char *)f + row->field;

	if (row->change)
		row->change(f);
	switch (row->kind) {
	case CHANGE:
		break;
	case TEXT:
		set_text(f, field, row->text);
		break;
	case NUMBER:
		set_number(f, field, row->number);
		break;
	case DURATION:
		set_duration(f, field, row->number);
		break;
	case FLAG:
		set_flag(f, field, row->number != 0);
		break;
	case MISSING:
		*(bool *)field = false;
		f->touched = *(struct place *)((char *)f + row->owner);
		break;
	}
}

void assert_told(const struct fixture *f, const struct errs *list, const struct row *row)
{
	if (list->n != 1 || strcmp(list->items[0].key, row->key) != 0 ||
	    !strstr(list->items[0].text, row->fragment)) {
		print_message("# row %s: %s\n", row->key, row->fragment);
		print_all(f);
	}
	assert_int_equal(list->n, 1);
	assert_string_equal(list->items[0].key, row->key);
	assert_non_null(strstr(list->items[0].text, row->fragment));
	assert_null(strchr(list->items[0].text, '\n'));
	assert_int_equal(list->items[0].at.line, f->touched.line);
	assert_int_equal(list->items[0].at.column, f->touched.column);
}

void assert_refused(const struct row *row)
{
	struct fixture f;

	fixture_begin(&f);
	apply(&f, row);
	memset(&f.config, 0xa5, sizeof(f.config));
	if (fixture_build(&f) != -EINVAL) {
		print_message("# row %s: %s: accepted\n", row->key, row->fragment);
		fail();
	}
	assert_told(&f, &f.errors, row);
	assert_int_equal(f.warnings.n, 0);
	for (size_t i = 0; i < sizeof(f.config); i++)
		assert_int_equal(((unsigned char *)&f.config)[i], 0xa5);
	fixture_end(&f);
}

void assert_doubted(const struct row *row)
{
	struct fixture f;

	fixture_begin(&f);
	apply(&f, row);
	if (fixture_build(&f) != 0)
		print_all(&f);
	assert_int_equal(f.errors.n, 0);
	assert_told(&f, &f.warnings, row);
	fixture_end(&f);
}

void assert_accepted(const struct row *row)
{
	struct fixture f;

	fixture_begin(&f);
	apply(&f, row);
	assert_clean(&f);
	fixture_end(&f);
}

void each(const struct row *rows, size_t n, void (*assert_row)(const struct row *row))
{
	for (size_t i = 0; i < n; i++)
		assert_row(&rows[i]);
}

const char *repeat(char c, size_t n)
{
	static char text[5000];

	assert_true(n < sizeof(text));
	memset(text, c, n);
	text[n] = '\0';
	return text;
}
