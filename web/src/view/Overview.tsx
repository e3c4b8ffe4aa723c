// SPDX-License-Identifier: Apache-2.0
// The first page of an operator on call: whether something is wrong, what, and since when; then all
// frontends with their pools.
import { type Component, createMemo, For, Show } from 'solid-js';
import type { Frontend } from '../api/types.ts';
import { isFolded } from '../folds.ts';
import { type Announcers, concernsOf as speakerConcerns } from '../model/announcements.ts';
import { statusOf } from '../model/dataplane.ts';
import { num, plural, scaled, vipText } from '../model/format.ts';
import { countStates, type Verdict } from '../model/health.ts';
import { reused } from '../model/patch.ts';
import { routerConcerns } from '../model/routers.ts';
import { frontendKey, latest } from '../model/series.ts';
import { type Change, recentChanges, type ServerView } from '../model/state.ts';
import { linkTo } from '../route.ts';
import {
	announcers,
	drawn,
	frontendHealth,
	plainServers,
	ringOf,
	routers,
	serverHealth,
	serverNamed,
	speakers,
} from '../store.ts';
import { ServerActions } from './Actions.tsx';
import { AnnouncedBadge } from './Announced.tsx';
import { StateIcon, VerdictIcon } from './Icons.tsx';
import { Age, Flash, FoldButton, LastKnown, Panel } from './parts.tsx';
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
}

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
		<StateCounts term={props.term} states={props.states} stale={props.stale ?? 0} />
	</a>
);

interface Concern {
	verdict: Verdict;
	title: string;
	notes: string;
	href: string;
	since: Frontend['since'];
}

function concernsOf(server: ServerView): Concern[] {
	const health = serverHealth(server.name);
	const own = health.problems.map((notes) => ({
		verdict: (server.connected ? 'warning' : health.verdict) as Verdict,
		title: server.name,
		notes,
		href: linkTo(server.name, server.connected ? 'dataplane' : 'overview'),
		since: server.connected ? 0 : server.since_ns,
	}));
	if (!server.connected) return own;
	const frontends = server.frontends.flatMap((one) => {
		const { verdict, notes } = frontendHealth(server.name, one.name);
		if (verdict === 'ok' || verdict === 'unknown') return [];
		const href = linkTo(server.name, 'frontend', one.name);
		const title = `${one.name} on ${server.name}`;
		return [
			{
				verdict,
				title,
				notes: notes.join(', '),
				href,
				since: verdict === 'critical' ? one.since : 0,
			},
		];
	});
	return [...own, ...frontends];
}

const GRAVITY: Verdict[] = ['critical', 'warning', 'degraded', 'unknown'];

/** Only the VIPs of these servers' frontends. */
function announcersIn(servers: ServerView[]): Announcers {
	const own = new Set(servers.flatMap((one) => one.frontends.map((it) => it.address)));
	return new Map([...announcers()].filter(([address]) => own.has(address)));
}

/** With one server in the scope: its VIPs, but not what is wrong with speakers. */
const announcementConcerns = (servers: ServerView[], scope: string): Concern[] =>
	(scope
		? speakerConcerns(announcersIn(servers), [])
		: speakerConcerns(announcers(), speakers())
	).map((one) => ({ ...one, href: linkTo(scope, 'announcements') }));

/** Routers belong to no server. */
const concernsOfRouters = (scope: string): Concern[] =>
	scope ? [] : routerConcerns(routers()).map((one) => ({ ...one, href: linkTo(scope, 'routers') }));

const Attention: Component<{ servers: ServerView[]; scope: string }> = (props) => {
	const concerns = createMemo<Concern[]>((before) => {
		const found = props.servers
			.flatMap(concernsOf)
			.concat(announcementConcerns(props.servers, props.scope))
			.concat(concernsOfRouters(props.scope))
			.sort((a, b) => GRAVITY.indexOf(a.verdict) - GRAVITY.indexOf(b.verdict));
		return reused(before, found);
	}, []);
	const frontends = () => props.servers.reduce((sum, one) => sum + one.frontends.length, 0);
	return (
		<section class="attention" aria-label="Needs attention" aria-live="polite">
			<Show
				when={concerns().length > 0}
				fallback={
					<p class="quiet">
						<VerdictIcon verdict="ok" /> All is well: {plural(frontends(), 'frontend')} on{' '}
						{plural(props.servers.length, 'server')}.
					</p>
				}
			>
				<ul>
					<For each={concerns()}>
						{(one) => (
							<li class={`concern concern-${one.verdict}`}>
								<a href={one.href}>
									<VerdictIcon verdict={one.verdict} label={one.verdict} />
									<b>{one.title}</b>
									<span class="concern-notes">{one.notes}</span>
								</a>
								<Show when={num(one.since) > 0}>
									<span class="muted">
										for <Age of={one.since} />
									</span>
								</Show>
							</li>
						)}
					</For>
				</ul>
			</Show>
		</section>
	);
};

const Tile: Component<{ server: ServerView; frontend: Frontend }> = (props) => {
	const health = () => frontendHealth(props.server.name, props.frontend.name);
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
				<For each={props.frontend.pools}>
					{(pool) => (
						<span class="tile-pool" classList={{ active: pool.active }}>
							<span class="tile-pool-name">{pool.name}</span>
							<span class="dots">
								<For each={pool.backends}>
									{(one) => (
										<Flash on={one.state} class="dot">
											<StateIcon state={one.state} label={`${one.name} ${one.state}`} />
										</Flash>
									)}
								</For>
							</span>
							<Show when={pool.active}>
								<span class="chip">active</span>
							</Show>
						</span>
					)}
				</For>
			</span>
			<span class="tile-foot">
				<span class="tile-notes">
					{health().notes.join(', ')}{' '}
					<LastKnown was={props.frontend.was} since={props.server.since_ns} />
				</span>
				<Show when={rate() !== null}>
					<Sparkline of={key()} lines={PACKETS} />
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

/** The part of a folded server that stays visible: problems are never hidden. */
const Summary: Component<{ server: ServerView }> = (props) => (
	<p class="summary">
		<StateCounts term="frontend" {...countOf([props.server], (one) => one.frontends)} />
		<StateCounts term="backend" {...countOf([props.server], (one) => one.backends)} />
	</p>
);

const ServerSection: Component<{ server: ServerView }> = (props) => (
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
				<For
					each={props.server.frontends}
					fallback={<p class="muted">{nothingIn(props.server)}</p>}
				>
					{(frontend) => <Tile server={props.server} frontend={frontend} />}
				</For>
			</div>
		</Show>
	</section>
);

const Recent: Component<{ servers: ServerView[]; scope: string }> = (props) => {
	const changes = createMemo<Change[]>((before) => {
		const inScope = plainServers().filter((one) => !props.scope || one.name === props.scope);
		return reused(before, recentChanges(inScope, RECENT));
	}, []);
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

export const Overview: Component<{ servers: ServerView[]; scope: string }> = (props) => (
	<>
		<h1 class="sr-only">Overview</h1>
		<Attention servers={props.servers} scope={props.scope} />
		<div class="counts">
			<CountCard
				term="server"
				states={props.servers.map((one) => (one.connected ? 'up' : one.cut ? 'unknown' : 'down'))}
				href={linkTo('', 'overview')}
			/>
			<CountCard
				term="frontend"
				{...countOf(props.servers, (one) => one.frontends)}
				href={linkTo(props.scope, 'overview')}
			/>
			<CountCard
				term="backend"
				{...countOf(props.servers, (one) => one.backends)}
				href={linkTo(props.scope, 'backends')}
			/>
		</div>
		<For each={props.servers}>{(server) => <ServerSection server={server} />}</For>
		<Recent servers={props.servers} scope={props.scope} />
	</>
);
