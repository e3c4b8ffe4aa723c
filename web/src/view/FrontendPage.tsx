// SPDX-License-Identifier: Apache-2.0
// One frontend: the paths of its flows, its pools, its traffic, the latency of its backends.
import { type Component, createMemo, For, type ParentComponent, Show } from 'solid-js';
import type { Backend, Frontend, LbServer, Pool } from '../api/types.ts';
import { duration, scaled, vipText } from '../model/format.ts';
import { whoOf } from '../model/overrides.ts';
import { frontendKey, latencyKey } from '../model/series.ts';
import type { ServerView } from '../model/state.ts';
import { createPast, type Shown } from '../past.ts';
import { linkTo } from '../route.ts';
import { frontendHealth } from '../store.ts';
import { BackendMenu } from './Actions.tsx';
import { AnnouncedBadge, AnnouncedPanel } from './Announced.tsx';
import { Chart, type ChartLine } from './Chart.tsx';
import { Counted, counted, lbServerOf, VipTable } from './DataPlane.tsx';
import { VerdictIcon } from './Icons.tsx';
import { SpanSwitch } from './Past.tsx';
import { PathPicture } from './PathPicture.tsx';
import {
	Age,
	Flash,
	Heartbeat,
	LastKnown,
	OverrideNote,
	Panel,
	ScheduleNote,
	StateWord,
} from './parts.tsx';
import { Each } from './rows.tsx';
import { GroupHead, type Head, Table } from './Table.tsx';

const TRAFFIC = ['new flows', 'known flows', 'untracked', 'no server'];
const BITS = 4;
export const packets = (value: number): string => scaled(value, 'pkt/s');
export const bits = (value: number): string => scaled(value, 'bit/s');
export const milliseconds = (value: number): string => duration(value * 1e6);

interface RowProps {
	server: ServerView;
	frontend: Frontend;
	pool: Pool;
	name: string;
	lb: LbServer | undefined;
}

const PoolRow: Component<RowProps> = (props) => {
	const inPool = () => props.pool.backends.find((one) => one.name === props.name);
	const backend = createMemo((): Backend | undefined =>
		props.server.backends.find((one) => one.name === props.name),
	);
	return (
		<Show when={inPool()}>
			{(it) => (
				<tr data-backend={props.name} data-state={it().state}>
					<th scope="row">
						<a href={linkTo(props.server.name, 'backend', props.name)}>{props.name}</a>
						<Heartbeat beat={backend()?.last_probe ?? 0} />
						<OverrideNote override={it().override} />
						<ScheduleNote override={backend()?.scheduled} />
					</th>
					<td>
						<StateWord state={it().state} />{' '}
						<Show
							when={backend()?.was}
							fallback={
								<span class="muted">
									<Age of={backend()?.since ?? 0} />
								</span>
							}
						>
							<LastKnown was={backend()?.was} since={props.server.since_ns} />
						</Show>
					</td>
					<td class="number">
						<Flash on={it().weight}>{it().weight}</Flash>
						<Show when={it().mutated}>
							<span class="muted" title="set at run time; the file says otherwise">
								{' '}
								(file {it().configured_weight})
							</span>
							<Show when={it().weight_override}>
								{(deed) => <span class="muted"> {whoOf(deed())}</span>}
							</Show>
						</Show>
					</td>
					<td class="number">
						<Flash on={it().effective_weight}>{it().effective_weight}</Flash>
					</td>
					<Counted server={props.server} lb={props.lb} />
					<td class="mono">{backend()?.last_code || '–'}</td>
					<td class="actions">
						<BackendMenu
							server={props.server}
							backend={props.name}
							frontend={props.frontend}
							pool={props.pool}
						/>
					</td>
				</tr>
			)}
		</Show>
	);
};

const heads = (server: ServerView): Head[] => [
	'Backend',
	'State',
	{ number: 'Weight' },
	{ number: 'Effective' },
	...counted(server),
	'Probe',
	{ unseen: 'Actions' },
];

interface PoolsProps {
	server: ServerView;
	frontend: Frontend;
}

const PoolRows: Component<PoolsProps & { pool: Pool; columns: number }> = (props) => {
	return (
		<tbody data-pool={props.pool.name}>
			<GroupHead columns={props.columns}>
				Pool {props.pool.name}{' '}
				<Show when={props.pool.active}>
					<span class="chip chip-ok">active</span>
				</Show>
			</GroupHead>
			<Each of={props.pool.backends} by={(one) => one.name}>
				{(one) => (
					<PoolRow
						server={props.server}
						frontend={props.frontend}
						pool={props.pool}
						name={one().name}
						lb={lbServerOf(props.server, props.frontend.name, one().name)}
					/>
				)}
			</Each>
		</tbody>
	);
};

/** One table, so that the pools share their columns. */
const Pools: Component<PoolsProps> = (props) => {
	const columns = createMemo(() => heads(props.server));
	return (
		<Show when={props.frontend.pools.length} fallback={<p class="muted">No pools.</p>}>
			<Table label="Pools" heads={columns()}>
				<Each of={props.frontend.pools} by={(one) => one.name}>
					{(pool) => <PoolRows {...props} pool={pool()} columns={columns().length} />}
				</Each>
			</Table>
		</Show>
	);
};

/** Instead of a chart. */
export const NoPoints: ParentComponent<{ past: Shown }> = (props) => (
	<p class="muted">
		<Show when={!props.past.loading()} fallback="The past is being read.">
			{props.children}
		</Show>
	</p>
);

const Traffic: Component<{ past: Shown; server: string; frontend: string }> = (props) => {
	const ring = () => props.past.ring(frontendKey(props.server, props.frontend));
	const lines = createMemo((): ChartLine[] =>
		TRAFFIC.map((label, line) => ({ label, ring: ring(), line })),
	);
	const hasBits = () => ring()?.values[BITS]?.some((value) => value !== null) ?? false;
	return (
		<Show
			when={ring()}
			fallback={<NoPoints past={props.past}>The data plane has not counted anything yet.</NoPoints>}
		>
			<Chart title="Packets a second" lines={lines()} format={packets} least={10} />
			<Show when={hasBits()}>
				<Chart
					title="Bits a second"
					lines={[{ label: 'to its backends', ring: ring(), line: BITS }]}
					format={bits}
					least={10_000}
				/>
			</Show>
		</Show>
	);
};

const Latency: Component<{ past: Shown; server: string; names: string[] }> = (props) => {
	const lines = createMemo((): ChartLine[] =>
		props.names.flatMap((label) => {
			const ring = props.past.ring(latencyKey(props.server, label));
			return ring ? [{ label, ring, line: 0 }] : [];
		}),
	);
	return (
		<Show
			when={lines().length > 0}
			fallback={<NoPoints past={props.past}>No probe has answered yet.</NoPoints>}
		>
			<Chart title="Time of a probe that passed" lines={lines()} format={milliseconds} least={1} />
		</Show>
	);
};

export const FrontendPage: Component<{ server: ServerView; frontend: Frontend }> = (props) => {
	const health = () => frontendHealth(props.server.name, props.frontend.name);
	const names = createMemo(
		() => [...new Set(props.frontend.pools.flatMap((p) => p.backends.map((b) => b.name)))],
		[],
		{ equals: (a, b) => a.join() === b.join() },
	);
	const past = createPast(
		() => props.server.name,
		() => [
			{ kind: 'frontend', name: props.frontend.name },
			...names().map((name) => ({ kind: 'backend' as const, name })),
		],
	);
	const vip = createMemo(() =>
		props.server.lb?.vips.find((one) => one.frontend === props.frontend.name),
	);
	return (
		<>
			<div class="page-head">
				<VerdictIcon verdict={health().verdict} label={health().verdict} />
				<h1>{props.frontend.name}</h1>
				<span class="mono">{vipText(props.frontend)}</span>
				<span class="muted">on</span>
				<a href={linkTo(props.server.name)}>{props.server.name}</a>
				<span>
					<StateWord state={props.frontend.state} />{' '}
					<Show when={props.frontend.was} fallback={<Age of={props.frontend.since} />}>
						<LastKnown was={props.frontend.was} since={props.server.since_ns} />
					</Show>
				</span>
				<For each={health().notes}>{(note) => <span class="chip">{note}</span>}</For>
				<AnnouncedBadge address={props.frontend.address} />
			</div>
			<p class="muted">
				{props.frontend.description}
				<Show when={props.frontend.src_ip_sticky}>
					{' '}
					<span class="chip">sticky by source address</span>
				</Show>
				<Show when={props.frontend.flush_on_down}>
					{' '}
					<span class="chip">flows are cut when a backend goes down</span>
				</Show>
			</p>
			<Panel title="Paths of new flows">
				<PathPicture server={props.server.name} frontend={props.frontend} />
			</Panel>
			<Panel title="Pools">
				<Pools server={props.server} frontend={props.frontend} />
			</Panel>
			<AnnouncedPanel address={props.frontend.address} />
			<SpanSwitch />
			<div class="columns">
				<Panel title="Traffic">
					<Traffic past={past} server={props.server.name} frontend={props.frontend.name} />
				</Panel>
				<Panel title="Probes">
					<Latency past={past} server={props.server.name} names={names()} />
				</Panel>
			</div>
			<Show when={vip()}>
				{(it) => (
					<Panel title="In the data plane">
						<VipTable server={props.server} vips={[it()]} onlyDifferences={false} />
					</Panel>
				)}
			</Show>
		</>
	);
};
