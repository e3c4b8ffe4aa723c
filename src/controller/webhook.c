/* SPDX-License-Identifier: Apache-2.0 */
#include "src/controller/webhook.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/http/server.h"
#include "lib/json/json.h"
#include "lib/json/tree.h"
#include "lib/k8s/feed.h"
#include "lib/tls/issue.h"
#include "lib/tls/tls.h"
#include "src/controller/controller.h"
#include "src/controller/convert.h"
#include "wire/metal.h"

#define MAX_BODY ((size_t)8 << 20) /* more than etcd accepts, twice: the object and the old one */
#define DISABLE_MP "disable mp is deprecated and has no effect since it's the default behavior now"

struct webhook {
	struct ev_loop *loop;
	const struct options *options;
	const struct controller *controller;
	struct http_server *server;
	struct tls_context *tls;
	struct k8s_names *names;
	struct k8s_kind *kinds[WIRE_METAL_KINDS];
	uint64_t counts[WEBHOOK_RESULTS];
	int64_t ends; /* of the certificate that is served; 0: none is */
};

/* An AdmissionReview, as far as it matters. Texts are "" if absent. */
struct review {
	const char *uid, *operation, *namespace, *name, *plural;
	const struct json_node *object;
};

static const char *text_at(const struct json_node *of, const char *key)
{
	const struct json_node *value = of ? json_find(of, key) : NULL;

	return value && value->kind == JSON_KIND_STRING ? value->text : "";
}

static const struct json_node *object_at(const struct json_node *of, const char *key)
{
	const struct json_node *value = of ? json_find(of, key) : NULL;

	return value && value->kind == JSON_KIND_OBJECT ? value : NULL;
}

/* ---- the object ---- */

/*
 * The object as the API server would list it. One that is about to be made has no version yet, and
 * no name if that is to be generated.
 */
static void write_object(const struct review *r, struct buf *out)
{
	const struct json_node *metadata = object_at(r->object, "metadata");
	const struct json_node *labels = metadata ? json_find(metadata, "labels") : NULL;
	const struct json_node *spec = json_find(r->object, "spec");

	buf_adds(out, "{\"metadata\":{\"resourceVersion\":\"1\",\"name\":");
	json_write_string(out, *r->name ? r->name : "new", strlen(*r->name ? r->name : "new"));
	buf_adds(out, ",\"namespace\":");
	json_write_string(out, r->namespace, strlen(r->namespace));
	if (labels) {
		buf_adds(out, ",\"labels\":");
		json_write_tree(out, labels);
	}
	buf_addc(out, '}');
	if (spec) {
		buf_adds(out, ",\"spec\":");
		json_write_tree(out, spec);
	}
	buf_addc(out, '}');
}

struct one {
	const struct k8s_kind *kind;
	struct k8s_object *object;
};

static bool on_object(const struct k8s_feed_event *e, void *user)
{
	struct one *one = user;

	one->object = k8s_object_keep(one->kind, e->object);
	return true;
}

/* NULL: that is not an object of the kind. */
static struct k8s_object *read_object(const struct webhook *w, size_t kind, const struct review *r)
{
	struct one one = { .kind = w->kinds[kind] };
	struct k8s_feed *feed = k8s_feed_new(one.kind, K8S_FEED_OBJECT, on_object, &one);
	_cleanup_(buf_free) struct buf text = { 0 };

	write_object(r, &text);
	if (k8s_feed_take(feed, text.p, text.n) == 0)
		k8s_feed_end(feed);
	k8s_feed_free(feed);
	return one.object;
}

/* ---- the decision ---- */

static int find_kind(const char *plural)
{
	for (int i = 0; i < WIRE_NODES; i++)
		if (strcmp(wire_metal_kinds[i].plural, plural) == 0)
			return i;
	return -1;
}

/* A profile that a peer uses cannot be deleted. */
static const char *check_delete(const struct webhook *w, size_t kind, const struct review *r,
				struct arena *arena)
{
	const struct k8s_cache *peers =
		operator_cache(controller_operator(w->controller), KIND_METAL + WIRE_PEERS);

	for (size_t i = 0; kind == WIRE_BFD_PROFILES && i < k8s_cache_count(peers); i++) {
		const struct wire_peer *p = (const struct wire_peer *)k8s_cache_at(peers, i);

		if (cstr_eq(p->bfd_profile, r->name))
			return arena_printf(arena,
					    "failed to delete BFDProfile %s, used by BGPPeer %s",
					    r->name, p->object.name);
	}
	return NULL;
}

/*
 * Refused is what makes a valid configuration invalid. If it is invalid already, no change of a
 * single object might make it valid, so only the object itself is checked.
 */
static const char *check_change(const struct webhook *w, size_t kind, const struct review *r,
				struct arena *arena)
{
	const char *own = operator_namespace(controller_operator(w->controller));
	struct k8s_object *o;
	const char *wrong;

	if (strcmp(r->namespace, own) != 0)
		return strcmp(r->operation, "CREATE") == 0
			       ? arena_printf(arena, "resource must be created in %s namespace",
					      own)
			       : NULL;
	o = read_object(w, kind, r);
	if (!o)
		return "the object cannot be read";
	wrong = controller_check(w->controller, kind, o, arena);
	if (wrong && controller_check(w->controller, kind, NULL, arena))
		wrong = controller_check_alone(w->controller, kind, o, arena);
	k8s_object_unref(w->kinds[kind], o);
	return wrong;
}

static const char *decide(const struct webhook *w, const struct review *r, struct arena *arena)
{
	int kind = find_kind(r->plural);

	if (kind < 0)
		return NULL;
	if (strcmp(r->operation, "DELETE") == 0)
		return check_delete(w, (size_t)kind, r, arena);
	return r->object ? check_change(w, (size_t)kind, r, arena) : NULL;
}

/* ---- answers ---- */

static void answer(struct webhook *w, struct http_exchange *x, enum webhook_result result,
		   const struct buf *body)
{
	w->counts[result]++;
	http_reply(x, 200, "application/json", (struct str){ body->p, body->n });
}

static void refuse(struct webhook *w, struct http_exchange *x, unsigned status, const char *why)
{
	w->counts[WEBHOOK_FAILED]++;
	http_reply(x, status, "text/plain", str_of(why));
}

static const struct json_node *parse(const struct http_request *request, struct arena *arena)
{
	struct errs errors = { .arena = arena };
	const struct json_node *root;

	if (json_parse(request->body, NULL, arena, &root, &errors) < 0)
		return NULL;
	return object_at(root, "request");
}

static void add_text(struct buf *out, const char *key, const char *value)
{
	buf_printf(out, "\"%s\":", key);
	json_write_string(out, value, strlen(value));
}

static bool disables_mp(const struct review *r)
{
	const struct json_node *spec = r->object ? object_at(r->object, "spec") : NULL;
	const struct json_node *value = spec ? json_find(spec, "disableMP") : NULL;

	return value && value->kind == JSON_KIND_BOOL && value->truth &&
	       strcmp(r->operation, "CREATE") == 0;
}

static void answer_review(struct webhook *w, struct http_exchange *x, const struct review *r,
			  const char *wrong)
{
	_cleanup_(buf_free) struct buf body = { 0 };

	buf_adds(&body, "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
			"\"response\":{");
	add_text(&body, "uid", r->uid);
	buf_printf(&body, ",\"allowed\":%s", wrong ? "false" : "true");
	if (wrong) {
		buf_adds(&body, ",\"status\":{\"code\":403,\"reason\":\"Forbidden\",");
		add_text(&body, "message", wrong);
		buf_addc(&body, '}');
	}
	if (disables_mp(r))
		buf_adds(&body, ",\"warnings\":[\"" DISABLE_MP "\"]");
	buf_adds(&body, "}}");
	if (wrong)
		log_info("webhook-denied", LOG_S("kind", r->plural), LOG_S("name", r->name),
			 LOG_S("operation", r->operation), LOG_S("error", wrong));
	answer(w, x, wrong ? WEBHOOK_DENIED : WEBHOOK_ALLOWED, &body);
}

static void on_validate(struct http_exchange *x, const struct http_request *request, void *user)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const struct json_node *from = parse(request, arena);
	struct webhook *w = user;
	struct review r;

	if (!from) {
		refuse(w, x, 400, "that is not an AdmissionReview\n");
		return;
	}
	/* without all resources nothing can be said about them together */
	if (!operator_is_synced(controller_operator(w->controller))) {
		refuse(w, x, 503, "the resources are not known yet\n");
		return;
	}
	r = (struct review){ .uid = text_at(from, "uid"),
			     .operation = text_at(from, "operation"),
			     .namespace = text_at(from, "namespace"),
			     .name = text_at(from, "name"),
			     .plural = text_at(object_at(from, "resource"), "resource"),
			     .object = object_at(from, "object") };
	answer_review(w, x, &r, decide(w, &r, arena));
}

static int convert_all(const struct json_node *request, struct buf *out)
{
	const struct json_node *objects = json_find(request, "objects");
	const char *version = text_at(request, "desiredAPIVersion");

	if (!objects || objects->kind != JSON_KIND_ARRAY)
		return -EINVAL;
	for (size_t i = 0; i < objects->n; i++) {
		if (i)
			buf_addc(out, ',');
		if (convert_peer(&objects->items[i], version, out) < 0)
			return -EINVAL;
	}
	return 0;
}

static void on_convert(struct http_exchange *x, const struct http_request *request, void *user)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const struct json_node *from = parse(request, arena);
	_cleanup_(buf_free) struct buf body = { 0 }, objects = { 0 };
	struct webhook *w = user;
	bool done = from && convert_all(from, &objects) == 0;

	if (!from) {
		refuse(w, x, 400, "that is not a ConversionReview\n");
		return;
	}
	buf_adds(&body, "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\","
			"\"response\":{");
	add_text(&body, "uid", text_at(from, "uid"));
	if (done)
		buf_adds(&body, ",\"result\":{\"status\":\"Success\"}");
	else
		buf_adds(&body,
			 ",\"result\":{\"status\":\"Failure\",\"message\":\"only BGPPeers of "
			 "v1beta1 and v1beta2 are converted\"}");
	buf_adds(&body, ",\"convertedObjects\":[");
	if (done)
		buf_add(&body, objects.p, objects.n);
	buf_adds(&body, "]}}");
	answer(w, x, done ? WEBHOOK_CONVERTED : WEBHOOK_FAILED, &body);
}

/* ---- the server ---- */

static const struct http_route routes[] = {
	{ HTTP_POST, "/validate-metallb-io-*", on_validate },
	{ HTTP_POST, "/convert", on_convert },
};

struct webhook *webhook_new(struct ev_loop *loop, const struct options *options,
			    const struct controller *controller)
{
	struct webhook *w = mem_zalloc(sizeof(*w));

	w->loop = loop;
	w->options = options;
	w->controller = controller;
	w->names = k8s_names_new();
	for (size_t i = 0; i < WIRE_METAL_KINDS; i++)
		w->kinds[i] = k8s_kind_new(wire_metal_kinds[i].layout, w->names);
	return w;
}

void webhook_free(struct webhook *w)
{
	if (!w)
		return;
	http_server_free(w->server);
	tls_context_free(w->tls);
	for (size_t i = 0; i < WIRE_METAL_KINDS; i++)
		k8s_kind_free(w->kinds[i]);
	k8s_names_free(w->names);
	free(w);
}

static void open_listener(struct webhook *w, struct tls_context *tls)
{
	struct http_server_config config = { .routes = routes,
					     .n_routes = ARRAY_SIZE(routes),
					     .user = w,
					     .tls = tls,
					     .max_body = MAX_BODY };
	char text[ENDPOINT_STRLEN];
	struct endpoint at;
	int r = endpoint_parse(w->options->webhook_addr, &config.listen);

	if (r == 0)
		r = http_server_new(w->loop, &config, &w->server);
	if (r < 0) {
		log_error("listen-failed", LOG_S("flag", "--webhook-addr"),
			  LOG_S("addr", w->options->webhook_addr), LOG_S("error", strerror(-r)));
		return;
	}
	at = http_server_endpoint(w->server);
	log_info("listening", LOG_S("for", "webhook"), LOG_S("addr", endpoint_format(&at, text)));
}

void webhook_use(struct webhook *w, const char *certificate, const char *key)
{
	const struct tls_pair pair = { .certificate = certificate, .key = key };
	const struct tls_config config = { .role = TLS_SERVER, .pairs = &pair, .n_pairs = 1 };
	struct tls_context *tls;
	struct tls_refusal why;

	if (tls_context_new(&config, &tls, &why) < 0) {
		log_error("certificate-refused", LOG_S("error", why.reason));
		return;
	}
	if (w->server)
		http_server_set_tls(w->server, tls);
	else
		open_listener(w, tls);
	tls_context_free(w->tls);
	w->tls = tls;
	if (tls_pem_ends(certificate, &w->ends) < 0)
		w->ends = 0;
}

const char *webhook_unready(const struct webhook *w)
{
	return w->server ? NULL : "the webhooks have no certificate yet";
}

const char *webhook_result_name(enum webhook_result r)
{
	static const char *const names[] = { "allowed", "denied", "converted", "failed" };

	return names[r];
}

uint64_t webhook_count(const struct webhook *w, enum webhook_result r)
{
	return w->counts[r];
}

int64_t webhook_certificate_ends(const struct webhook *w)
{
	return w->ends;
}
