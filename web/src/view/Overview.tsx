// SPDX-License-Identifier: Apache-2.0
// The first page of an operator on call: the totals, which stay in sight; what is wrong, by cause, the worst
// first; what operators did on purpose; then the frontends with their pools, and the last changes.
import { type Component, createMemo, For, Index, Show } from 'solid-js';
import type { Frontend } from '../api/types.ts';
import { isFolded } from '../folds.ts';
import { statusOf } from '../model/dataplane.ts';
import { num, scaled, vipText } from '../model/format.ts';
import { countStates, type Verdict } from '../model/health.ts';
import { reused } from '../model/reused.ts';
import { frontendKey, latest } from '../model/series.ts';
import { type Change, recentChanges, type ServerView } from '../model/state.ts';
import { linkTo } from '../route.ts';
import { drawn, frontendHealth, ringOf, serverHealth, serverNamed } from '../store.ts';
import { ServerActions } from './Actions.tsx';
import { AnnouncedBadge } from './Announced.tsx';
import { Attention } from './Attention.tsx';
import { StateIcon, VerdictIcon } from './Icons.tsx';
import { Age, Flash, FoldButton, LastKnown, Panel } from './parts.tsx';
import { Each } from './rows.tsx';
import { Sparkline } from './Sparkline.tsx';

const STATE_ORDER = ['up', 'down', 'paused', 'disabled', 'unknown'];
const RECENT = 8;
/** Lines of a ring of traffic that are packets; the last is bits. */
const PACKETS = [0, 1, 2];

interface CountsProps {
	term: string;
	states: string[];
	/** Those of servers without contact: in no sum, because their states are not known. */
	stale?: number;
	/** Of those that are up: how many need attention, by verdict. */
	reduced?: Partial<Record<Verdict, number>>;
}

const REDUCED: Verdict[] = ['warning', 'degraded'];

/** "3 frontends", how many are in each state, and how many more are not known. */
const StateCounts: Component<CountsProps> = (props) => {
	const counts = createMemo(() => countStates(props.states));
	return (
		<span class="count">
			<span class="count-total">{props.states.length}</span>{' '}
			<span class="count-term">{props.states.length === 1 ? props.term : `${props.term}s`}</span>{' '}
			<span class="count-states">
				<For each={STATE_ORDER.filter((state) => counts()[state])}>
					{(state) => (
						<span class="count-state">
							<StateIcon state={state} />
							<Flash on={counts()[state]}>
								{counts()[state]} {state}
							</Flash>{' '}
						</span>
					)}
				</For>
				<For each={REDUCED.filter((verdict) => props.reduced?.[verdict])}>
					{(verdict) => (
						<span class="count-state" data-reduced={verdict}>
							<VerdictIcon verdict={verdict} />
							<Flash on={props.reduced?.[verdict]}>
								{props.reduced?.[verdict]} {verdict}
							</Flash>{' '}
						</span>
					)}
				</For>
				<Show when={props.stale}>
					<span class="count-state muted" data-stale={props.stale}>
						<StateIcon state="unknown" />
						{props.stale} not known
					</span>
				</Show>
			</span>
		</span>
	);
};

const CountCard: Component<CountsProps & { href: string }> = (props) => (
	<a class="count-card" href={props.href}>
		<StateCounts {...props} />
	</a>
);

const Tile: Component<{ server: ServerView; frontend: Frontend }> = (props) => {
	const health = createMemo(() => frontendHealth(props.server.name, props.frontend.name));
	const key = () => frontendKey(props.server.name, props.frontend.name);
	const rate = () => {
		drawn();
		const parts = PACKETS.map((line) => latest(ringOf(key()), line));
		return parts.every((one) => one === null)
			? null
			: parts.reduce<number>((a, b) => a + (b ?? 0), 0);
	};
	return (
		<a
			class={`tile tile-${health().verdict}`}
			href={linkTo(props.server.name, 'frontend', props.frontend.name)}
			classList={{ stale: !props.server.connected }}
			data-frontend={props.frontend.name}
			data-verdict={health().verdict}
		>
			<span class="tile-head">
				<VerdictIcon verdict={health().verdict} label={health().verdict} />
				<span class="tile-name">{props.frontend.name}</span>
				<span class="tile-since">
					<Flash on={props.frontend.state}>{props.frontend.state}</Flash>{' '}
					<Age of={props.frontend.was ? props.server.since_ns : props.frontend.since} />
				</span>
			</span>
			<span class="tile-vip">{vipText(props.frontend)}</span>
			<AnnouncedBadge address={props.frontend.address} />
			<span class="tile-pools">
				<Index each={props.frontend.pools}>
					{(pool) => (
						<span class="tile-pool" classList={{ active: pool().active }}>
							<span class="tile-pool-name">{pool().name}</span>
							<span class="dots">
								<Index each={pool().backends}>
									{(one) => (
										<Flash on={one().state} class="dot">
											<StateIcon state={one().state} label={`${one().name} ${one().state}`} />
										</Flash>
									)}
								</Index>
							</span>
							<Show when={pool().active}>
								<span class="chip">active</span>
							</Show>
						</span>
					)}
				</Index>
			</span>
			<span class="tile-foot">
				<span class="tile-notes">
					{health().notes.join(', ')}{' '}
					<LastKnown was={props.frontend.was} since={props.server.since_ns} />
				</span>
				<Sparkline of={key()} lines={PACKETS} />
				<Show when={rate() !== null}>
					<span class="tile-rate">{scaled(rate() ?? 0, 'pkt/s')}</span>
				</Show>
			</span>
		</a>
	);
};

const planeText = (server: ServerView): string => {
	if (!server.connected) return 'data plane not known';
	if (!server.lb) return server.lb_error ? 'data plane not read' : 'no data plane';
	const { dataplane, warmup } = server.lb;
	const status = statusOf(server.lb);
	if (dataplane === 'none') return 'no data plane';
	if (status !== 'connected') return `${dataplane} ${status}`;
	return warmup === 'done' ? `${dataplane} connected` : `${dataplane}, warm-up ${warmup}`;
};

const nothingIn = (server: ServerView): string =>
	num(server.refreshed_at_ns) ? 'No frontends.' : 'Nothing is known of it yet.';

/** The states of the items of servers with contact, and the number of the others. */
const countOf = (servers: ServerView[], items: (server: ServerView) => { state: string }[]) => ({
	states: servers
		.filter((one) => one.connected)
		.flatMap(items)
		.map((one) => one.state),
	stale: servers.filter((one) => !one.connected).flatMap(items).length,
});

/** Frontends that are up, but need attention, by verdict. */
const reducedOf = (servers: ServerView[]) =>
	countStates(
		servers.flatMap((server) => {
			const { frontends } = serverHealth(server.name);
			return server.frontends
				.filter((one) => one.state === 'up')
				.map((one) => frontends[one.name]?.verdict ?? 'unknown');
		}),
	);

/** The part of a folded server that stays visible: problems are never hidden. */
const Summary: Component<{ server: ServerView }> = (props) => (
	<p class="summary">
		<StateCounts term="frontend" {...countOf([props.server], (one) => one.frontends)} />
		<StateCounts term="backend" {...countOf([props.server], (one) => one.backends)} />
	</p>
);

/** Most tiles of a server. With more frontends those that need attention come first; a list has all of them. */
const TILES = 48;

function tilesOf(server: ServerView): Frontend[] {
	if (server.frontends.length <= TILES) return server.frontends;
	const { frontends } = serverHealth(server.name);
	const isQuiet = (one: Frontend) => frontends[one.name]?.verdict === 'ok';
	const bad = server.frontends.filter((one) => !isQuiet(one)).slice(0, TILES);
	return [...bad, ...server.frontends.filter(isQuiet)].slice(0, TILES);
}

const ServerSection: Component<{ server: ServerView }> = (props) => {
	const tiles = createMemo(() => tilesOf(props.server));
	const left = () => props.server.frontends.length - tiles().length;
	return (
		<section
			class="server"
			classList={{ stale: !props.server.connected }}
			data-section={props.server.name}
		>
			<div class="server-head">
				<VerdictIcon
					verdict={serverHealth(props.server.name).verdict}
					label={serverHealth(props.server.name).verdict}
				/>
				<h2>
					<FoldButton title={props.server.name} />
				</h2>
				<span class="muted mono">{props.server.address}</span>
				<span class="muted">{planeText(props.server)}</span>
				<Show when={!props.server.connected}>
					<span class="chip chip-bad">
						no contact for <Age of={props.server.since_ns} />
					</span>
				</Show>
				<span class="spacer" />
				<ServerActions server={props.server} />
			</div>
			<Show when={!isFolded(props.server.name)} fallback={<Summary server={props.server} />}>
				<div class="tiles">
					<Each
						of={tiles()}
						by={(one) => one.name}
						later
						fallback={<p class="muted">{nothingIn(props.server)}</p>}
					>
						{(frontend) => <Tile server={props.server} frontend={frontend()} />}
					</Each>
				</div>
				<Show when={left() > 0}>
					<p class="more">
						<a href={linkTo(props.server.name, 'frontends')}>
							All {props.server.frontends.length} frontends of {props.server.name}
						</a>{' '}
						<span class="muted">({left()} more than here)</span>
					</p>
				</Show>
			</Show>
		</section>
	);
};

const Recent: Component<{ servers: ServerView[]; scope: string }> = (props) => {
	const changes = createMemo<Change[]>(
		(before) => reused(before, recentChanges(props.servers, RECENT)),
		[],
	);
	return (
		<Panel title="Last changes" aside={<a href={linkTo(props.scope, 'events')}>events</a>}>
			<ul class="recent">
				<For each={changes()} fallback={<li class="muted">None.</li>}>
					{(one) => (
						<li>
							<span class="recent-age muted">
								<Age of={one.at} />
							</span>
							<StateIcon state={serverNamed(one.server)?.connected ? one.to : 'unknown'} />
							<a href={linkTo(one.server, 'backend', one.backend)}>{one.backend}</a>
							<span>
								{one.from} → {one.to}
							</span>
							<span class="mono">{one.code}</span>
							<span class="muted">{one.reason}</span>
							<Show when={props.servers.length > 1}>
								<span class="recent-server muted">{one.server}</span>
							</Show>
						</li>
					)}
				</For>
			</ul>
		</Panel>
	);
};

/** The sums, which stay in sight while the page scrolls. */
const Totals: Component<{ servers: ServerView[]; scope: string }> = (props) => {
	const frontends = createMemo(() => countOf(props.servers, (one) => one.frontends));
	const backends = createMemo(() => countOf(props.servers, (one) => one.backends));
	const reduced = createMemo(() => reducedOf(props.servers));
	return (
		<section class="counts" aria-label="Totals">
			<CountCard
				term="server"
				states={props.servers.map((one) => (one.connected ? 'up' : one.cut ? 'unknown' : 'down'))}
				href={linkTo('', 'overview')}
			/>
			<CountCard
				term="frontend"
				{...frontends()}
				reduced={reduced()}
				href={linkTo(props.scope, 'frontends')}
			/>
			<CountCard term="backend" {...backends()} href={linkTo(props.scope, 'backends')} />
		</section>
	);
};

export const Overview: Component<{ servers: ServerView[]; scope: string }> = (props) => (
	<>
		<h1 class="sr-only">Overview</h1>
		<Totals servers={props.servers} scope={props.scope} />
		<Attention servers={props.servers} scope={props.scope} />
		<Each of={props.servers} by={(one) => one.name} later step={1}>
			{(server) => <ServerSection server={server()} />}
		</Each>
		<Recent servers={props.servers} scope={props.scope} />
	</>
);
