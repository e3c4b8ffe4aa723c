// SPDX-License-Identifier: Apache-2.0
// What maglev-mux answers; docs/reference/mux.md describes it.

export interface Mux {
	namespace: string;
	name: string;
	has_queue: boolean;
	external_dns_hostname: string | null;
	status_ingress: string | null;
	ingress: string[];
	/** active, invalid, frozen or disabled */
	condition: string;
	reason: string | null;
	message: string | null;
	lb_class: string | null;
	port_range: string | null;
	max_ports: number | null;
	gke: boolean;
	state_configmap: string | null;
	channels: number;
	served: number;
	refused: number;
	ports: number;
}

export interface ChannelPort {
	name: string | null;
	port: number;
	node_port: number | null;
	protocol: string;
	mux_port: number | null;
	held: number | null;
	source: string | null;
	mux_port_name: string | null;
}

export interface Channel {
	namespace: string;
	name: string;
	mux_namespace: string;
	mux_name: string;
	lb_class: string | null;
	external_dns: string | null;
	custom_dns: string | null;
	ports: ChannelPort[];
	/** served, refused, pending or disabled */
	state: string;
	reason: string | null;
	message: string | null;
}

export interface Address {
	address: string;
	ready: boolean;
	pod: string | null;
	ports: { port: number; protocol: string }[];
}

export interface Endpoints {
	namespace: string;
	name: string;
	ready_count: number;
	not_ready_count: number;
	pods: string[];
	/** Of channels only, and not all where there are very many. */
	addresses?: Address[];
}

export interface Event {
	timestamp: string;
	first_timestamp: string;
	last_timestamp: string;
	count: number;
	type: string;
	resource: string;
	message: string;
}

export interface Controller {
	version: string;
	commit: string;
	started: string;
	synced: boolean;
	active: boolean;
	elects: boolean;
	dry_run: boolean;
	identity: string | null;
	leader: string | null;
	api_prefix: string | null;
	server: string | null;
}

export interface State {
	mux_services: Record<string, Mux>;
	channel_services: Record<string, Channel>;
	endpoints: Record<string, Endpoints>;
	events: Event[];
	controller: Controller;
}

export interface TestResult {
	success: boolean;
	message?: string;
	error?: string;
}
