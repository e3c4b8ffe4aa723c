// SPDX-License-Identifier: Apache-2.0
// One channel: its ports on the mux, and its endpoints.
import { type Component, For, Index, Show } from 'solid-js';
import { plural } from '../model/format.ts';
import { Fact } from '../view/basics.tsx';
import { StateIcon } from '../view/Icons.tsx';
import { keyed } from '../view/rows.tsx';
import { NoRows, Table } from '../view/Table.tsx';
import { muxKeyOf, portRows } from './model.ts';
import { Ports } from './Ports.tsx';
import { ChannelState, Ready, TestButton, Texts } from './parts.tsx';
import { linkTo } from './place.ts';
import type { Address, Channel, State } from './types.ts';

const AddressRow: Component<{ of: Address }> = (props) => (
	<tr data-address={props.of.address} data-ready={String(props.of.ready)}>
		<td>
			<span class="state-word">
				<StateIcon state={props.of.ready ? 'up' : 'down'} />
				<span>{props.of.ready ? 'ready' : 'not ready'}</span>
			</span>
		</td>
		<th scope="row" class="mono">
			{props.of.address}
		</th>
		<td>{props.of.pod ?? <span class="muted">no pod</span>}</td>
		<td>
			<Index each={props.of.ports}>
				{(one) => (
					<span>
						<span class="mono">
							{one().port}/{one().protocol}
						</span>{' '}
						<Show when={one().protocol === 'TCP'}>
							<TestButton host={props.of.address} port={one().port} />
						</Show>{' '}
					</span>
				)}
			</Index>
		</td>
	</tr>
);

const keyOfAddress = (one: Address): string =>
	[one.address, ...one.ports.map((port) => `${port.port}/${port.protocol}`)].join(' ');

/** Rows are drawn by key, so that the result of a test stays while the state changes. */
const Addresses: Component<{ of: Address[]; all: number }> = (props) => {
	const rows = keyed(() => props.of, keyOfAddress);
	return (
		<section class="panel">
			<div class="panel-head">
				<h2>Endpoints</h2>
			</div>
			<Table label="Endpoints" heads={['State', 'Address', 'Pod', 'Ports']}>
				<tbody>
					<For
						each={rows.keys()}
						fallback={<NoRows columns={4}>The Service has no endpoint.</NoRows>}
					>
						{(key) => (
							<Show when={rows.byKey().get(key)}>{(one) => <AddressRow of={one()} />}</Show>
						)}
					</For>
				</tbody>
			</Table>
			<Show when={props.all > props.of.length}>
				<p class="muted">
					{props.of.length} of {plural(props.all, 'endpoint')} are shown.
				</p>
			</Show>
		</section>
	);
};

export const ChannelPage: Component<{ name: string; channel: Channel; state: State }> = (props) => {
	const endpoints = () => props.state.endpoints[props.name];
	const mux = () => props.state.mux_services[muxKeyOf(props.channel)];
	return (
		<>
			<div class="page-head">
				<h1>channel {props.name}</h1>
				<ChannelState state={props.channel.state} />
			</div>
			<Show when={props.channel.message}>
				<p class="concern concern-warning" role="alert">
					<b>{props.channel.reason}</b> {props.channel.message}
				</p>
			</Show>
			<section class="panel">
				<dl class="facts">
					<Fact term="Mux">
						<a href={linkTo('mux', muxKeyOf(props.channel))}>{muxKeyOf(props.channel)}</a>
					</Fact>
					<Fact term="Class">
						<Texts of={props.channel.lb_class ? [props.channel.lb_class] : []} />
					</Fact>
					<Fact term="Reached as">
						<Texts of={props.channel.external_dns ? [props.channel.external_dns] : []} />
					</Fact>
					<Fact term="Endpoints">
						<Ready
							ready={endpoints()?.ready_count ?? 0}
							notReady={endpoints()?.not_ready_count ?? 0}
						/>
					</Fact>
				</dl>
			</section>
			<Ports
				rows={portRows(props.state, [props.channel])}
				label={`Ports of ${props.name}`}
				ingress={mux()?.status_ingress ?? null}
			/>
			<Addresses
				of={endpoints()?.addresses ?? []}
				all={(endpoints()?.ready_count ?? 0) + (endpoints()?.not_ready_count ?? 0)}
			/>
		</>
	);
};
