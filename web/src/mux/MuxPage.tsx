// SPDX-License-Identifier: Apache-2.0
// One mux: what it is, its ports, and what it has refused.
import { type Component, Show } from 'solid-js';
import { plural } from '../model/format.ts';
import { Fact } from '../view/basics.tsx';
import { VerdictIcon } from '../view/Icons.tsx';
import { channelsOf, muxVerdict, portRows } from './model.ts';
import { Ports } from './Ports.tsx';
import { Ready, Texts } from './parts.tsx';
import { concerns } from './store.ts';
import type { Mux, State } from './types.ts';

const Facts: Component<{ mux: Mux; state: State; name: string }> = (props) => {
	const endpoints = () => props.state.endpoints[props.name];
	return (
		<dl class="facts">
			<Fact term="Address">
				<Texts of={props.mux.ingress} />
			</Fact>
			<Fact term="DNS">
				<Texts of={props.mux.external_dns_hostname ? [props.mux.external_dns_hostname] : []} />
			</Fact>
			<Fact term="Channels">
				{props.mux.served} served, {props.mux.refused} refused, of {props.mux.channels}
			</Fact>
			<Fact term="Ports">
				{props.mux.ports}
				{props.mux.max_ports ? ` of at most ${props.mux.max_ports}` : ''}
				{props.mux.gke ? ' (GKE)' : ''}
			</Fact>
			<Fact term="Range for automatic ports">
				<Texts of={props.mux.port_range ? [props.mux.port_range] : []} />
			</Fact>
			<Fact term="Endpoints">
				<Ready ready={endpoints()?.ready_count ?? 0} notReady={endpoints()?.not_ready_count ?? 0} />
			</Fact>
			<Fact term="State is kept in ConfigMap">
				<Texts of={props.mux.state_configmap ? [props.mux.state_configmap] : []} />
			</Fact>
			<Fact term="Class of the provider">
				<Texts of={props.mux.lb_class ? [props.mux.lb_class] : []} />
			</Fact>
		</dl>
	);
};

export const MuxPage: Component<{ name: string; state: State }> = (props) => {
	const mux = () => props.state.mux_services[props.name];
	const channels = () => channelsOf(props.state, props.name);
	const verdict = () => muxVerdict(concerns(), props.name);
	return (
		<>
			<div class="page-head">
				<VerdictIcon verdict={verdict()} label={verdict()} />
				<h1>mux {props.name}</h1>
				<Show when={mux()} fallback={<span class="chip chip-warn">does not exist</span>}>
					{(it) => (
						<span
							class={`chip ${it().condition === 'active' ? 'chip-ok' : 'chip-warn'}`}
							data-condition={it().condition}
						>
							{it().condition}
						</span>
					)}
				</Show>
				<span class="muted">{plural(channels().length, 'channel')}</span>
			</div>
			<Show when={mux()?.message}>
				<p class="concern concern-warning" role="alert">
					<b>{mux()?.reason}</b> {mux()?.message}
				</p>
			</Show>
			<Show when={mux()}>
				{(it) => (
					<section class="panel">
						<Facts mux={it()} state={props.state} name={props.name} />
					</section>
				)}
			</Show>
			<Ports
				rows={portRows(props.state, channels())}
				label={`Ports of ${props.name}`}
				ingress={mux()?.status_ingress ?? null}
			/>
		</>
	);
};
