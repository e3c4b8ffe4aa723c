/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ActOnBackends: one action of the operator on several backends. Core selects them and computes
 * what the action would do (core/l4/foresee.h); the engine carries it out. Nothing is changed
 * before it is clear that no backend refuses it.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/l4/foresee.h"
#include "src/maglevd/api/internal.h"
#include "src/maglevd/engine.h"
#include "wire/api.h"

#define NAMES_MAX 256

/* False if the request does not say which backends; the call has failed then. */
static bool is_selection(struct grpc_call *call, const Maglev__ActOnBackendsRequest *r,
			 struct addr *ret_address)
{
	if (!*r->address == !r->n_names)
		grpc_fail(call, GRPC_INVALID_ARGUMENT,
			  "either address or names says which backends are meant");
	else if (r->n_names > NAMES_MAX)
		grpc_fail(call, GRPC_INVALID_ARGUMENT, "names: at most %d", NAMES_MAX);
	else if (*r->address && addr_parse(r->address, ret_address) < 0)
		grpc_fail(call, GRPC_INVALID_ARGUMENT, "address: \"%s\" is not an address",
			  r->address);
	else
		return true;
	return false;
}

/* The backends that are meant. False if there is none; the call has failed then. */
static bool choose(struct api *a, struct grpc_call *call, const Maglev__ActOnBackendsRequest *r,
		   struct arena *arena, struct l4_selection *ret)
{
	const struct l4_config *c = engine_model(a->setup.engine)->config;
	struct addr address = { 0 };

	if (!is_selection(call, r, &address))
		return false;
	*ret = *r->address ? l4_select_address(c, &address, arena)
			   : l4_select_names(c, r->names, r->n_names, arena);
	if (ret->n)
		return true;
	if (*r->address)
		grpc_fail(call, GRPC_NOT_FOUND, "no backend has the address %s", r->address);
	else
		grpc_fail(call, GRPC_NOT_FOUND, "no backend is called \"%s\"%s", r->names[0],
			  r->n_names > 1 ? " or as any other of the names" : "");
	return false;
}

/* What it would do. False if a backend refuses it; the call has failed then. */
static bool foresee(struct api *a, struct grpc_call *call, const struct l4_selection *s,
		    enum l4_command c, struct arena *arena, struct l4_outcome *ret)
{
	const struct l4_model *m = engine_model(a->setup.engine);
	size_t refused;

	if (l4_foresee(m, s, c, arena, ret, &refused) == 0)
		return true;
	grpc_fail(call, GRPC_FAILED_PRECONDITION,
		  "nothing was changed: backend \"%s\" is disabled: enable it first",
		  m->config->backends[s->backends[refused]].name);
	return false;
}

/* The answer is made before the action: it compares with the state before. */
API_HANDLER(act_on_backends)
{
	struct api *a = user;
	const Maglev__ActOnBackendsRequest *r = (const Maglev__ActOnBackendsRequest *)request;
	struct l4_note note = { .reason = r->reason, .until = r->until, .from = r->from };
	struct arena *arena = api__scratch(a);
	Maglev__ActOnBackendsResponse *answer;
	struct l4_selection chosen;
	struct l4_outcome outcome;
	enum l4_command c;
	struct who who;

	if (!r->dry_run && !api__may_change(a, call))
		return;
	if (!l4_command_parse(r->act, &c)) {
		grpc_fail(call, GRPC_INVALID_ARGUMENT,
			  "act is \"%s\": pause, resume, enable or disable", r->act);
		return;
	}
	if (!api__note(call, &note, c) || !choose(a, call, r, arena, &chosen) ||
	    !foresee(a, call, &chosen, c, arena, &outcome))
		return;
	answer = wire_outcome(engine_model(a->setup.engine), &chosen, &outcome, arena);
	answer->dry_run = r->dry_run;
	if (r->dry_run) {
		grpc_reply(call, &answer->base);
		return;
	}
	who = service_who(a->service, call);
	note.who = &who;
	api__log_command(&note, c, *r->address ? r->address : r->names[0], chosen.n);
	engine_act_on(a->setup.engine, &chosen, c, &note);
	api__reply_act(a, call, &answer->base);
}
