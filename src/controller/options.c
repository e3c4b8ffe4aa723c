/* SPDX-License-Identifier: Apache-2.0 */
#include "src/controller/options.h"

#include "base/cleanup.h"

static const char about[] =
	"Gives Services of the type LoadBalancer addresses from the IPAddressPools of metallb.io, "
	"tells how much of each pool is used and whether the configuration is valid, and refuses "
	"resources that would make it invalid. It takes the place of MetalLB's controller.";

static struct options values; /* the target of the table, which is static */

static const struct cli_option table[] = {
	OPERATOR_CLIENT_OPTIONS("MAGLEV_CONTROLLER_", values.operator),
	OPERATOR_LEADER_OPTIONS("MAGLEV_CONTROLLER_", values.operator, "maglev-controller"),
	OPERATOR_DRY_RUN_OPTION("MAGLEV_CONTROLLER_", values.operator),
	{ .name = "lb-class",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_CONTROLLER_LB_CLASS",
	  .fallback = "",
	  .argument = "CLASS",
	  .help = "only services with this loadBalancerClass; empty: only those without one",
	  .string = &values.lb_class },
	{ .name = "webhook-addr",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_CONTROLLER_WEBHOOK_ADDR",
	  .fallback = ":9443",
	  .argument = "ADDR",
	  .help = "where the webhooks are served, over TLS; empty: nowhere",
	  .string = &values.webhook_addr },
	{ .name = "webhook-secret",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_CONTROLLER_WEBHOOK_SECRET",
	  .fallback = "metallb-webhook-cert",
	  .argument = "NAME",
	  .help = "the Secret that keeps the certificates of the webhooks",
	  .string = &values.webhook_secret },
	{ .name = "webhook-service",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_CONTROLLER_WEBHOOK_SERVICE",
	  .fallback = "metallb-webhook-service",
	  .argument = "NAME",
	  .help = "the Service by which the API server reaches the webhooks",
	  .string = &values.webhook_service },
	{ .name = "webhook-configuration",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_CONTROLLER_WEBHOOK_CONFIGURATION",
	  .fallback = "metallb-webhook-configuration",
	  .argument = "NAME",
	  .help = "the ValidatingWebhookConfiguration whose caBundle is written",
	  .string = &values.webhook_config },
	{ .name = "metrics-addr",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_CONTROLLER_METRICS_ADDR",
	  .fallback = ":7472",
	  .argument = "ADDR",
	  .help = "where /metrics, /healthz, /readyz and /loglevel are served; empty: nowhere",
	  .string = &values.metrics_addr },
	DAEMON_LOG_OPTIONS("MAGLEV_CONTROLLER_", values.log),
};

void options_parse(struct options *o, int argc, char *const argv[])
{
	const struct cli_program program = {
		.name = "maglev-controller",
		.about = about,
		.options = table,
		.n_options = ARRAY_SIZE(table),
	};

	cli_parse_or_exit(&program, argc, argv);
	operator_options_check(&values.operator, program.name);
	*o = values;
}
