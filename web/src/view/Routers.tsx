// SPDX-License-Identifier: Apache-2.0
// All routers: their routes, those with problems first, their pools, their generations, and themselves.
import {
	type Component,
	createMemo,
	createResource,
	createSignal,
	createUniqueId,
	For,
	Show,
} from 'solid-js';
import { getDifference } from '../api/client.ts';
import type { RouterGeneration, RouterPool, RouterRoute } from '../api/types.ts';
import { num, plural } from '../model/format.ts';
import { VERDICTS } from '../model/health.ts';
import {
	changesText,
	hostsText,
	noteOf,
	placeName,
	problemsOf,
	targetsText,
	verdictOf,
	verdictOfPool,
} from '../model/routers.ts';
import type { RouterView } from '../model/state.ts';
import { linkTo, route, setFilter } from '../route.ts';
import { routers } from '../store.ts';
import { RollbackAction } from './Actions.tsx';
import { VerdictIcon } from './Icons.tsx';
import { Ago, ContactCells, Flash, Panel } from './parts.tsx';
import { FIGURE_HEADS, Figures, PoolRows, SERVER_HEADS } from './RouterTables.tsx';
import { fits, keyed, ShowMore, wordsOf } from './rows.tsx';
import { type Head, NoRows, Table } from './Table.tsx';

interface RouteEntry {
	router: RouterView;
	it: RouterRoute;
}

interface PoolEntry {
	router: RouterView;
	it: RouterPool;
}

/** Those with problems first; otherwise the order stays, so that rows do not move with their figures. */
const byVerdict = <T,>(all: T[], verdict: (one: T) => (typeof VERDICTS)[number]): T[] =>
	all
		.map((one) => ({ one, rank: VERDICTS.indexOf(verdict(one)) }))
		.sort((a, b) => a.rank - b.rank)
		.map(({ one }) => one);

const ROUTE_HEADS: Head[] = ['Route', 'Router', 'Hosts', 'Leads to', ...FIGURE_HEADS];

const RouteRow: Component<{ entry: RouteEntry }> = (props) => {
	const it = () => props.entry.it;
	const verdict = () => verdictOf(props.entry.router, it());
	return (
		<tr
			data-route={it().name}
			data-router={props.entry.router.name}
			data-verdict={verdict()}
			classList={{ stale: !props.entry.router.connected }}
		>
			<th scope="row">
				<Flash on={verdict()}>
					<VerdictIcon verdict={verdict()} label={verdict()} />
				</Flash>{' '}
				<a href={linkTo('', 'route', placeName(props.entry.router.name, it().name))}>{it().name}</a>
			</th>
			<td>{props.entry.router.name}</td>
			<td class="words">{hostsText(it())}</td>
			<td class="words">{targetsText(it())}</td>
			<Figures of={it().traffic} />
		</tr>
	);
};

const Routes: Component<{ words: string[] }> = (props) => {
	const found = createMemo(() =>
		byVerdict(
			routers()
				.flatMap((router) => router.routes.map((it): RouteEntry => ({ router, it })))
				.filter(({ router, it }) =>
					fits(props.words, [it.name, router.name, ...it.hosts, targetsText(it)]),
				),
			({ router, it }) => verdictOf(router, it),
		),
	);
	const rows = keyed(found, ({ router, it }) => placeName(router.name, it.name));
	return (
		<Panel title="Routes" aside={<span class="muted">{plural(found().length, 'route')}</span>}>
			<Table label="Routes" heads={ROUTE_HEADS}>
				<tbody>
					<For
						each={rows.keys()}
						fallback={<NoRows columns={ROUTE_HEADS.length}>No route fits.</NoRows>}
					>
						{(key) => (
							<Show when={rows.byKey().get(key)}>{(entry) => <RouteRow entry={entry()} />}</Show>
						)}
					</For>
				</tbody>
			</Table>
			<ShowMore left={rows.left()} total={found().length} onMore={rows.showMore} />
		</Panel>
	);
};

const Pools: Component<{ words: string[] }> = (props) => {
	const found = createMemo(() =>
		byVerdict(
			routers()
				.flatMap((router) => router.pools.map((it): PoolEntry => ({ router, it })))
				.filter(({ router, it }) =>
					fits(props.words, [
						it.name,
						router.name,
						...it.routes,
						...it.servers.map((one) => `${one.host}:${one.port} ${one.state}`),
					]),
				),
			({ router, it }) => verdictOfPool(router, it),
		),
	);
	const rows = keyed(found, ({ router, it }) => placeName(router.name, it.name));
	return (
		<Panel title="Pools" aside={<span class="muted">{plural(found().length, 'pool')}</span>}>
			<Table label="Pools" heads={SERVER_HEADS}>
				<For
					each={rows.keys()}
					fallback={
						<tbody>
							<NoRows columns={SERVER_HEADS.length}>No pool fits.</NoRows>
						</tbody>
					}
				>
					{(key) => (
						<Show when={rows.byKey().get(key)}>
							{(entry) => <PoolRows router={entry().router} pool={entry().it} />}
						</Show>
					)}
				</For>
			</Table>
			<ShowMore left={rows.left()} total={found().length} onMore={rows.showMore} />
		</Panel>
	);
};

const SIGNS: Record<string, string> = { added: '+', removed: '−', changed: '~' };

/** What a generation changed, read when it is opened. */
const Difference: Component<{ router: string; number: string }> = (props) => {
	// a text, so that it is read once and not with every change of the router
	const [diff] = createResource(
		() => placeName(props.router, props.number),
		() => getDifference(props.router, props.number),
	);
	return (
		<Show
			when={!diff.loading}
			fallback={<p class="muted">Reading what generation {props.number} changed…</p>}
		>
			<Show when={!diff.error} fallback={<p role="alert">{String(diff.error?.message)}</p>}>
				<ul class="difference" data-difference={props.number}>
					<For each={diff()?.changes} fallback={<li class="muted">Nothing differs.</li>}>
						{(one) => (
							<li class={`change-${one.change}`}>
								<b>
									{SIGNS[one.change] ?? '?'} {one.kind} {one.name}
								</b>
								<Show when={one.before}>
									<code class="before">− {one.before}</code>
								</Show>
								<Show when={one.after}>
									<code class="after">+ {one.after}</code>
								</Show>
							</li>
						)}
					</For>
				</ul>
				<Show when={(diff()?.left_out ?? 0) > 0}>
					<p class="muted">And {diff()?.left_out} further changes.</p>
				</Show>
			</Show>
		</Show>
	);
};

const GENERATION_HEADS: Head[] = [
	{ number: 'Generation' },
	'Router',
	'When',
	'Source',
	{ number: 'Routes' },
	{ number: 'Pools' },
	'Changed',
	'State',
	{ unseen: 'Actions' },
];

const GenerationRow: Component<{ router: RouterView; it: RouterGeneration }> = (props) => {
	const [open, setOpen] = createSignal(false);
	const id = createUniqueId();
	const number = () => String(props.it.number);
	return (
		<>
			<tr
				data-generation={number()}
				data-router={props.router.name}
				data-in-force={String(props.it.in_force)}
				classList={{ stale: !props.router.connected }}
			>
				<th scope="row" class="number">
					{number()}
				</th>
				<td>{props.router.name}</td>
				<td>
					<Ago of={props.it.at} />
				</td>
				<td>
					{props.it.source}{' '}
					<span class="muted">{props.it.peer ? `from ${props.it.peer}` : ''}</span>
				</td>
				<td class="number">{props.it.routes}</td>
				<td class="number">{props.it.pools}</td>
				<td>{changesText(props.it)}</td>
				<td>
					{props.router.connected ? (
						noteOf(props.it) || <span class="muted">–</span>
					) : (
						<span class="muted">not known</span>
					)}
				</td>
				<td class="actions">
					<Show when={props.it.compared}>
						<button
							type="button"
							aria-expanded={open()}
							aria-controls={id}
							onClick={() => setOpen(!open())}
						>
							Difference
						</button>
					</Show>{' '}
					<RollbackAction router={props.router} of={props.it} />
				</td>
			</tr>
			<Show when={open()}>
				<tr id={id} class="detail">
					<td colspan={GENERATION_HEADS.length}>
						<Difference router={props.router.name} number={number()} />
					</td>
				</tr>
			</Show>
		</>
	);
};

const Generations: Component<{ words: string[] }> = (props) => {
	const found = createMemo(() =>
		routers().flatMap((router) =>
			(router.generations?.generations ?? [])
				.map((it) => ({ router, it }))
				.filter(({ it }) => fits(props.words, [router.name, it.source, String(it.number)])),
		),
	);
	const rows = keyed(found, ({ router, it }) => `${router.name}/${it.number}`);
	return (
		<Panel title="Generations">
			<Table label="Generations" heads={GENERATION_HEADS}>
				<tbody>
					<For
						each={rows.keys()}
						fallback={<NoRows columns={GENERATION_HEADS.length}>No generation.</NoRows>}
					>
						{(key) => (
							<Show when={rows.byKey().get(key)}>
								{(entry) => <GenerationRow router={entry().router} it={entry().it} />}
							</Show>
						)}
					</For>
				</tbody>
			</Table>
			<ShowMore left={rows.left()} total={found().length} onMore={rows.showMore} />
		</Panel>
	);
};

const ROUTER_HEADS: Head[] = [
	'Router',
	'Contact',
	'Configuration',
	{ number: 'Clients' },
	...FIGURE_HEADS,
	'Problems',
	'Version',
];

const RouterRow: Component<{ router: RouterView }> = (props) => {
	const info = () => props.router.info;
	return (
		<tr
			data-router={props.router.name}
			data-connected={String(props.router.connected)}
			classList={{ stale: !props.router.connected }}
		>
			<ContactCells of={props.router} />
			<td>
				<Show when={info()} fallback={<span class="muted">not known</span>}>
					{(it) => (
						<Flash on={String(it().generation)}>
							generation {String(it().generation)}{' '}
							<span class="muted">
								{it().source}, <Ago of={it().loaded} />
								{props.router.connected ? '' : ', last known'}
							</span>
							<Show when={it().rollout}>
								<span class="chip chip-info">{it().rollout}</span>
							</Show>
						</Flash>
					)}
				</Show>
			</td>
			<td class="number figure">{info()?.traffic ? num(info()?.clients) : '–'}</td>
			<Figures of={info()?.traffic} />
			<td class="words">
				<Show when={problemsOf(props.router).length > 0} fallback={<span class="muted">none</span>}>
					<ul class="problems">
						<For each={problemsOf(props.router)}>{(text) => <li>{text}</li>}</For>
					</ul>
				</Show>
			</td>
			<td class="mono">{info()?.version || '–'}</td>
		</tr>
	);
};

const All: Component<{ words: string[] }> = (props) => {
	const found = createMemo(() =>
		routers().filter((one) => fits(props.words, [one.name, one.address, ...problemsOf(one)])),
	);
	const rows = keyed(found, (one) => one.name);
	return (
		<Table label="Routers" heads={ROUTER_HEADS}>
			<tbody>
				<For
					each={rows.keys()}
					fallback={<NoRows columns={ROUTER_HEADS.length}>No router fits.</NoRows>}
				>
					{(key) => (
						<Show when={rows.byKey().get(key)}>{(router) => <RouterRow router={router()} />}</Show>
					)}
				</For>
			</tbody>
		</Table>
	);
};

/** Routers belong to no server, so all are shown in every scope. */
export const Routers: Component = () => {
	const words = createMemo(() => wordsOf(route().name));
	return (
		<>
			<h1 class="sr-only">Routers</h1>
			<Show
				when={routers().length > 0}
				fallback={
					<p class="nowhere">
						No router is followed: maglevd-frontend was started without --router.
					</p>
				}
			>
				<section class="panel">
					<div class="panel-head">
						<h2>{plural(routers().length, 'router')}</h2>
						<input
							type="search"
							data-search
							placeholder="route, host, pool, server, router"
							aria-label="Filter routers"
							value={route().name}
							onInput={(event) => setFilter(event.currentTarget.value)}
						/>
					</div>
					<All words={words()} />
				</section>
				<Routes words={words()} />
				<Pools words={words()} />
				<Generations words={words()} />
			</Show>
		</>
	);
};
