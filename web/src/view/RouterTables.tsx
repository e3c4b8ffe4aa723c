// SPDX-License-Identifier: Apache-2.0
// Tables that the pages of routers share: cells of figures, and the servers of a pool.
import { type Component, For, Show } from 'solid-js';
import type { RouterPool, RouterServer, Traffic } from '../api/types.ts';
import { num } from '../model/format.ts';
import {
	errorText,
	hasManyErrors,
	iconOf,
	latencyText,
	rateText,
	shareText,
	verdictOfPool,
} from '../model/routers.ts';
import type { RouterView } from '../model/state.ts';
import { StateIcon, VerdictIcon } from './Icons.tsx';
import { Age, Flash, LastKnown } from './parts.tsx';
import { GroupHead, type Head, NoRows } from './Table.tsx';

export const FIGURE_HEADS: Head[] = [
	{ number: 'Rate' },
	{ number: 'Errors' },
	{ number: 'p50' },
	{ number: 'p99' },
	{ number: 'Requests' },
];

/** Figures of the last seconds; dashes if they are not known. */
export const Figures: Component<{ of: Traffic | undefined }> = (props) => (
	<>
		<td class="number figure">{rateText(props.of)}</td>
		<td class="number figure" classList={{ 'state-down': hasManyErrors(props.of) }}>
			{errorText(props.of)}
		</td>
		<td class="number figure">{latencyText(props.of?.p50)}</td>
		<td class="number figure">{latencyText(props.of?.p99)}</td>
		<td class="number figure">{props.of ? num(props.of.requests) : '–'}</td>
	</>
);

export const SERVER_HEADS: Head[] = [
	'Server',
	'State',
	{ number: 'Since' },
	{ number: 'Weight' },
	{ number: 'Share' },
	{ number: 'Active' },
	{ number: 'Open' },
	...FIGURE_HEADS,
];

const ServerRow: Component<{ router: RouterView; server: RouterServer }> = (props) => (
	<tr
		data-server={`${props.server.host}:${props.server.port}`}
		data-state={props.server.state}
		classList={{ stale: !props.router.connected }}
	>
		<th scope="row" class="mono">
			{props.server.host.includes(':') ? `[${props.server.host}]` : props.server.host}:
			{props.server.port}
			<Show when={props.server.addresses?.length}>
				{' '}
				<span class="beside muted">{props.server.addresses.join(', ')}</span>
			</Show>
		</th>
		<td>
			<Flash on={props.server.state} class="state-word">
				<StateIcon state={iconOf(props.server.state)} />
				<span class={`state-${iconOf(props.server.state)}`}>{props.server.state}</span>
			</Flash>{' '}
			<span class="muted">{props.server.reason}</span>
			<LastKnown was={props.server.was} since={props.router.since_ns} />
		</td>
		<td class="number">
			<Age of={props.server.since} />
		</td>
		<td class="number">{props.server.weight}</td>
		<td class="number">{props.router.connected ? shareText(props.server.share) : '–'}</td>
		<td class="number figure">{props.server.load?.active ?? '–'}</td>
		<td class="number figure">{props.server.load?.connections ?? '–'}</td>
		<Figures of={props.server.traffic} />
	</tr>
);

/** A pool as a group of rows. */
export const PoolRows: Component<{ router: RouterView; pool: RouterPool }> = (props) => {
	const verdict = () => verdictOfPool(props.router, props.pool);
	return (
		<tbody data-pool={props.pool.name} data-router={props.router.name} data-verdict={verdict()}>
			<GroupHead columns={SERVER_HEADS.length}>
				<VerdictIcon verdict={verdict()} label={verdict()} /> {props.pool.name}{' '}
				<span class="muted">
					on {props.router.name} · {props.pool.balance} ·{' '}
					{props.router.connected
						? `${props.pool.usable} of ${props.pool.servers.length} servers get requests`
						: 'not known'}{' '}
					· {rateText(props.pool.traffic)}, {errorText(props.pool.traffic)} errors
					<Show when={props.pool.routes.length > 0} fallback=" · no route uses it">
						{' '}
						· for {props.pool.routes.slice(0, 5).join(', ')}
						{props.pool.routes.length > 5 ? ` and ${props.pool.routes.length - 5} more` : ''}
					</Show>
				</span>
			</GroupHead>
			<For
				each={props.pool.servers.map((one) => `${one.host} ${one.port}`)}
				fallback={<NoRows columns={SERVER_HEADS.length}>No server.</NoRows>}
			>
				{(key) => (
					<Show when={props.pool.servers.find((one) => `${one.host} ${one.port}` === key)}>
						{(server) => <ServerRow router={props.router} server={server()} />}
					</Show>
				)}
			</For>
		</tbody>
	);
};
