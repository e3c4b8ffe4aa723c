// SPDX-License-Identifier: Apache-2.0
// All frontends of the scope in one table, those with problems first unless another order is chosen.
import { type Component, createMemo, createSignal, For, Index, Show } from 'solid-js';
import { plural, vipText } from '../model/format.ts';
import { VERDICTS, type Verdict } from '../model/health.ts';
import {
	FRONTEND_ORDERS,
	type FrontendEntry,
	type FrontendOrder,
	frontendsOf,
	keyOf,
} from '../model/lists.ts';
import { frontendKey } from '../model/series.ts';
import type { ServerView } from '../model/state.ts';
import { linkTo, route, setFilter } from '../route.ts';
import { serverHealth } from '../store.ts';
import { AnnouncedBadge } from './Announced.tsx';
import { StateIcon, VerdictIcon } from './Icons.tsx';
import { Age, Flash, LastKnown } from './parts.tsx';
import { bounded, Each, ShowMore } from './rows.tsx';
import { Sparkline } from './Sparkline.tsx';
import { type Head, NoRows, Table } from './Table.tsx';

const PACKETS = [0, 1, 2];

const ORDER_WORDS: Record<FrontendOrder, string> = {
	state: 'worst first',
	name: 'by name',
	address: 'by address',
	since: 'last changed first',
};

const heads = (withServer: boolean): Head[] => [
	'State',
	'Frontend',
	...(withServer ? ['Server'] : []),
	'VIP',
	'Backends',
	'Notes',
	'Traffic',
	{ number: 'Since' },
];

const Row: Component<{ entry: FrontendEntry; withServer: boolean }> = (props) => {
	const it = () => props.entry.it;
	const pool = () => it().pools.find((one) => one.active) ?? it().pools[0];
	return (
		<tr
			data-frontend={it().name}
			data-server-name={props.entry.server.name}
			data-verdict={props.entry.health.verdict}
			classList={{ stale: !props.entry.server.connected }}
		>
			<td>
				<Flash on={props.entry.health.verdict} class="state-word">
					<VerdictIcon verdict={props.entry.health.verdict} label={props.entry.health.verdict} />
					<span class={`state-${it().state}`}>{it().state}</span>
				</Flash>{' '}
				<LastKnown was={it().was} since={props.entry.server.since_ns} />
			</td>
			<th scope="row">
				<a href={linkTo(props.entry.server.name, 'frontend', it().name)}>{it().name}</a>
			</th>
			<Show when={props.withServer}>
				<td>{props.entry.server.name}</td>
			</Show>
			<td class="mono">{vipText(it())}</td>
			<td>
				<span class="row-pool">
					<span class="muted">{pool()?.name ?? 'no pools'}</span>
					<span class="dots">
						<Index each={pool()?.backends ?? []}>
							{(one) => <StateIcon state={one().state} label={`${one().name} ${one().state}`} />}
						</Index>
					</span>
				</span>
			</td>
			<td class="words">
				{props.entry.health.notes.join(', ')} <AnnouncedBadge address={it().address} />
			</td>
			<td class="spark-cell">
				<Sparkline of={frontendKey(props.entry.server.name, it().name)} lines={PACKETS} />
			</td>
			<td class="number">
				<Age of={it().was ? props.entry.server.since_ns : it().since} />
			</td>
		</tr>
	);
};

export const Frontends: Component<{ servers: ServerView[] }> = (props) => {
	const [verdict, setVerdict] = createSignal<Verdict | ''>('');
	const [order, setOrder] = createSignal<FrontendOrder>('state');
	const many = () => props.servers.length > 1;
	const found = createMemo(() =>
		frontendsOf(props.servers, serverHealth, {
			filter: route().name,
			verdict: verdict(),
			order: order(),
		}),
	);
	const rows = bounded(found);
	return (
		<>
			<h1 class="sr-only">Frontends</h1>
			<section class="panel">
				<div class="panel-head">
					<h2>{plural(found().length, 'frontend')}</h2>
					<div class="toolbar">
						<select
							aria-label="Which"
							value={verdict()}
							onChange={(event) => setVerdict(event.currentTarget.value as Verdict | '')}
						>
							<option value="">all</option>
							<For each={VERDICTS}>{(one) => <option value={one}>{one}</option>}</For>
						</select>
						<select
							aria-label="Order"
							value={order()}
							onChange={(event) => setOrder(event.currentTarget.value as FrontendOrder)}
						>
							<For each={FRONTEND_ORDERS}>
								{(one) => <option value={one}>{ORDER_WORDS[one]}</option>}
							</For>
						</select>
						<input
							type="search"
							data-search
							placeholder="name, VIP, state, backend"
							aria-label="Filter frontends"
							value={route().name}
							onInput={(event) => setFilter(event.currentTarget.value)}
						/>
					</div>
				</div>
				<Table label="Frontends" heads={heads(many())}>
					<tbody>
						<Each
							of={rows.shown()}
							by={keyOf}
							fallback={<NoRows columns={heads(many()).length}>No frontend fits.</NoRows>}
						>
							{(entry) => <Row entry={entry()} withServer={many()} />}
						</Each>
					</tbody>
				</Table>
				<ShowMore left={rows.left()} total={found().length} onMore={rows.showMore} />
			</section>
		</>
	);
};
