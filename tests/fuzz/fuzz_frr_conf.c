/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as two configurations of FRR, separated by a NUL byte: the running one and the wanted one.
 *
 * What was understood and is written again must be understood as the same. A configuration differs
 * in nothing from itself. The difference of two is a plan or a reason, never both.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/frr/diff.h"

static void check(bool fine)
{
	if (!fine)
		abort();
}

static void print(const struct frr_conf *c, struct buf *out)
{
	for (size_t i = 0; i < c->statements.n; i++) {
		const struct frr_statement *s = &c->statements.items[i];

		buf_printf(out, "end\n%s\n%s\n", s->context, s->line);
	}
}

static void round_trip(const struct frr_conf *c)
{
	struct frr_conf back;
	struct buf text = { 0 };

	print(c, &text);
	if (frr_conf_parse((struct str){ text.p, text.n }, &back) < 0) {
		buf_free(
			&text); /* a sequence number was added to a line that was almost too long */
		return;
	}
	check(back.statements.n == c->statements.n);
	for (size_t i = 0; i < c->statements.n; i++) {
		const struct frr_statement *a = &c->statements.items[i];
		const struct frr_statement *b = &back.statements.items[i];

		check(a->kind == b->kind && a->drops == b->drops);
		check(strcmp(a->context, b->context) == 0 && strcmp(a->key, b->key) == 0);
		check(strcmp(a->line, b->line) == 0 && strcmp(a->undo, b->undo) == 0);
		check(frr_conf_find(c, a->context, a->key) == a);
	}
	frr_conf_free(&back);
	buf_free(&text);
}

static void compare(const struct frr_conf *running, const struct frr_conf *wanted)
{
	struct buf text = { 0 };
	struct frr_plan plan;

	frr_diff(running, running, wanted, &plan);
	check(!plan.why[0] || (!plan.ops.n && !plan.policy));
	check(plan.announced + plan.withdrawn <= plan.ops.n);
	for (size_t i = 0; i < plan.ops.n; i++)
		frr_op_print(&plan.ops.items[i], &text);
	frr_refresh_print(wanted, &plan, &text);
	frr_plan_free(&plan);
	buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size }, part = { 0 };
	struct frr_conf running, wanted;
	struct frr_plan plan;

	if (!str_cut(&rest, '\0', &part) || frr_conf_parse(part, &running) < 0)
		return 0;
	round_trip(&running);
	frr_diff(&running, &running, &running, &plan);
	check(!plan.ops.n && !plan.why[0]);
	frr_plan_free(&plan);
	if (frr_conf_parse(rest, &wanted) == 0) {
		compare(&running, &wanted);
		frr_conf_free(&wanted);
	}
	frr_conf_free(&running);
	return 0;
}
