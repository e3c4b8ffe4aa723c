// SPDX-License-Identifier: Apache-2.0
// The ports of a mux with their owners; what channels want and have not got is at the end.
import { type Component, createMemo, createSignal, For, Show } from 'solid-js';
import { plural } from '../model/format.ts';
import { fits, keyed, ShowMore, wordsOf } from '../view/rows.tsx';
import { type Head, NoRows, Table } from '../view/Table.tsx';
import { keyOf, type PortRow } from './model.ts';
import { ChannelLink, ChannelState, Ready, Search, TestButton } from './parts.tsx';
import { actions } from './store.ts';

const HEADS: Head[] = [
	{ number: 'Port' },
	'Owner',
	'Service port',
	'Given',
	'Endpoints',
	'State',
	'Why',
];

const textsOf = (row: PortRow): string[] => [
	String(row.port.mux_port ?? ''),
	row.port.protocol,
	keyOf(row.channel),
	row.port.name ?? '',
	row.port.source ?? '',
	row.channel.state,
	row.channel.reason ?? '',
	row.channel.message ?? '',
];

const PortNumber: Component<{ row: PortRow }> = (props) => (
	<Show
		when={props.row.port.mux_port}
		fallback={
			<span class="muted">{props.row.port.held ? `${props.row.port.held} kept` : 'none'}</span>
		}
	>
		<b>{props.row.port.mux_port}</b>/{props.row.port.protocol}
	</Show>
);

const testable = (row: PortRow): boolean =>
	row.port.mux_port !== null && row.port.protocol === 'TCP';

const Row: Component<{ row: PortRow; ingress: string | null }> = (props) => (
	<tr
		data-port={props.row.port.mux_port ?? 'none'}
		data-owner={keyOf(props.row.channel)}
		data-state={props.row.channel.state}
	>
		<td class="number mono">
			<PortNumber row={props.row} />
		</td>
		<th scope="row">
			<ChannelLink of={keyOf(props.row.channel)} />
		</th>
		<td class="mono">
			{props.row.port.name ?? 'unnamed'}:{props.row.port.port}{' '}
			<span class="muted">{props.row.port.mux_port_name ?? ''}</span>
		</td>
		<td>{props.row.port.source ?? <span class="muted">–</span>}</td>
		<td>
			<Ready ready={props.row.ready} notReady={props.row.notReady} />
		</td>
		<td>
			<ChannelState state={props.row.channel.state} />
		</td>
		<td class="reason">
			<Show when={props.row.channel.reason}>
				<b>{props.row.channel.reason}</b> {props.row.channel.message}
			</Show>
			<Show when={testable(props.row) && props.ingress}>
				{(host) => <TestButton host={host()} port={props.row.port.mux_port ?? 0} />}
			</Show>
		</td>
	</tr>
);

export const Ports: Component<{ rows: PortRow[]; label: string; ingress: string | null }> = (
	props,
) => {
	const [search, setSearch] = createSignal('');
	const found = createMemo(() => {
		const words = wordsOf(search());
		return props.rows.filter((row) => fits(words, textsOf(row)));
	});
	const rows = keyed(found, (one) => one.key);
	const heads = () => (actions() ? [...HEADS.slice(0, -1), 'Why, and tests'] : HEADS);
	return (
		<section class="panel">
			<div class="panel-head">
				<h2>{plural(found().length, 'port')}</h2>
				<Search value={search()} label={`Search ${props.label}`} onInput={setSearch} />
			</div>
			<Table label={props.label} heads={heads()}>
				<tbody>
					<For each={rows.keys()} fallback={<NoRows columns={7}>There is no port.</NoRows>}>
						{(key) => (
							<Show when={rows.byKey().get(key)}>
								{(row) => <Row row={row()} ingress={props.ingress} />}
							</Show>
						)}
					</For>
				</tbody>
			</Table>
			<ShowMore left={rows.left()} total={found().length} onMore={rows.showMore} />
		</section>
	);
};
