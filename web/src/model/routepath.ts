// SPDX-License-Identifier: Apache-2.0
// The layout of the path picture of a route: listener, host, rule, pool, server. The width of a line between
// rules and servers is its share of the requests of that rule. Pure.
import type { RouterListener, RouterPool, RouterRoute, RouterServer } from '../api/types.ts';
import { curve, fan, lineWidth, type PathLink } from './paths.ts';
import { iconOf, shareText } from './routers.ts';

export interface RoutePool {
	name: string;
	usable: boolean;
	x: number;
	y: number;
	width: number;
}

export interface RouteServer {
	server: RouterServer;
	/** Of the requests of its rule. */
	share: number;
	x: number;
	y: number;
}

/** A text in one of the first three columns. */
export interface RouteText {
	text: string;
	small: string;
	x: number;
	y: number;
	width: number;
}

export interface RoutePicture {
	width: number;
	height: number;
	narrow: boolean;
	texts: RouteText[];
	pools: RoutePool[];
	servers: RouteServer[];
	links: PathLink[];
	/** Items that are not drawn: they are in the tables. */
	left: number;
}

const ROW = 40;
const GAP = 16;
/** Most items of one kind that are drawn. */
const DRAWN = { listeners: 4, hosts: 4, rules: 8, pools: 8, servers: 12 };

interface Columns {
	listener: number;
	host: number;
	rule: number;
	text: number;
	pool: number;
	poolWidth: number;
	server: number;
}

/** A narrow picture begins with the rules. */
function columnsOf(width: number, narrow: boolean): Columns {
	const server = width - (narrow ? 140 : 190);
	const poolWidth = narrow ? 62 : 104;
	if (narrow) {
		const text = Math.min(110, width * 0.22);
		const pool = text + 24 + (server - text - 38 - poolWidth) * 0.5;
		return { listener: 0, host: 0, rule: 2, text, pool, poolWidth, server };
	}
	const step = (server - poolWidth - 40) / 3.6;
	return {
		listener: 4,
		host: 4 + step,
		rule: 4 + 2 * step,
		text: step - 34,
		pool: 4 + 3.15 * step,
		poolWidth,
		server,
	};
}

const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0);

const LETTER = 7.6; // px of a letter, about
const SPACE = 10;

/** Where a line that leaves a text begins. */
const endOf = (one: RouteText): number =>
	one.x + Math.min(one.width, Math.max(one.text.length, one.small.length * 0.86) * LETTER) + SPACE;

/** So many texts below each other, around the middle. */
const column = (count: number, middle: number): number[] =>
	Array.from({ length: count }, (_, row) => middle + (row - (count - 1) / 2) * ROW);

const listenersOf = (route: RouterRoute, listeners: RouterListener[]): RouterListener[] =>
	route.listeners.length > 0
		? listeners.filter((one) => route.listeners.includes(one.name))
		: listeners;

/** A narrow picture has no room for the kind of the path. */
const ruleText = (route: RouterRoute, index: number, narrow: boolean) => {
	const rule = route.rules[index];
	const first = rule?.matches[0] ?? (route.fallback ? 'everything else' : 'prefix /');
	const more = (rule?.matches.length ?? 0) - 1;
	return {
		text: narrow ? first.replace(/\b(prefix|exact|regex) /, '') : first,
		small: more > 0 ? `or ${more} more` : '',
	};
};

interface Drawing {
	picture: RoutePicture;
	columns: Columns;
	pools: Map<string, RouterPool>;
}

/** The servers of one backend of a rule from this y on; returns the y of its pool and the next y. */
function addBackend(d: Drawing, pool: RouterPool | undefined, share: number, top: number) {
	const { picture, columns } = d;
	const all = pool?.servers ?? [];
	const servers = all.slice(0, DRAWN.servers);
	picture.left += all.length - servers.length;
	const height = Math.max(1, servers.length) * ROW;
	const y = top + height / 2;
	const shares = servers.map((one) => one.share * share);
	const starts = fan(shares.map(lineWidth), y);
	picture.pools.push({
		name: pool?.name ?? '500',
		usable: (pool?.usable ?? 0) > 0,
		x: columns.pool,
		y,
		width: columns.poolWidth,
	});
	servers.forEach((server, row) => {
		const end = top + row * ROW + ROW / 2;
		picture.servers.push({ server, share: shares[row] ?? 0, x: columns.server, y: end });
		picture.links.push({
			d: curve(columns.pool + columns.poolWidth, starts[row] ?? y, columns.server - 14, end),
			width: lineWidth(shares[row] ?? 0),
			idle: (shares[row] ?? 0) === 0,
			state: iconOf(server.state),
		});
	});
	return { y, next: top + height + GAP };
}

/** The rule, its backends and the lines between them; returns the y of the rule and the next y. */
function addRule(d: Drawing, route: RouterRoute, index: number, top: number) {
	const { picture, columns } = d;
	const rule = route.rules[index];
	const all = rule?.backends ?? [];
	const backends = all.slice(0, DRAWN.pools);
	picture.left += all.length - backends.length;
	let at = top;
	const ends = backends.map((one) => {
		const added = addBackend(d, d.pools.get(one.pool), one.share, at);
		at = added.next;
		return added.y;
	});
	if (ends.length === 0) at += ROW + GAP;
	const y = ends.length > 0 ? sum(ends) / ends.length : top + ROW / 2;
	const texts = ruleText(route, index, picture.narrow);
	const small = rule?.redirect || texts.small;
	const text = { text: texts.text, small, x: columns.rule, y, width: columns.text };
	picture.texts.push(text);
	const shares = backends.map((one) => one.share);
	const starts = fan(shares.map(lineWidth), y);
	backends.forEach((one, row) => {
		picture.links.push({
			d: curve(endOf(text), starts[row] ?? y, columns.pool, ends[row] ?? y),
			width: lineWidth(one.share),
			idle: one.share === 0 || one.usable === 0,
			state: one.usable === 0 ? 'down' : 'up',
		});
	});
	return { y, next: at };
}

/** Listeners and hosts, with lines from each to all of the next column. */
function addEntrances(
	d: Drawing,
	route: RouterRoute,
	listeners: RouterListener[],
	rules: number[],
): void {
	const { picture, columns } = d;
	const middle = picture.height / 2;
	const hosts = route.hosts.length > 0 ? route.hosts : [route.fallback ? 'any' : 'every host'];
	const own = listenersOf(route, listeners);
	const firsts = column(Math.min(own.length, DRAWN.listeners), middle);
	const seconds = column(Math.min(hosts.length, DRAWN.hosts), middle);
	picture.left += own.length - firsts.length + (hosts.length - seconds.length);
	const entrances = firsts.map((y, row): RouteText => {
		const one = own[row];
		return {
			text: one?.name ?? '',
			small: one?.address ?? '',
			x: columns.listener,
			y,
			width: columns.text,
		};
	});
	const names = seconds.map(
		(y, row): RouteText => ({
			text: hosts[row] ?? '',
			small: '',
			x: columns.host,
			y,
			width: columns.text,
		}),
	);
	const join = (from: RouteText[], to: number, ends: number[]) => {
		for (const one of from)
			for (const y of ends)
				picture.links.push({
					d: curve(endOf(one), one.y, to - SPACE, y),
					width: 1.5,
					idle: false,
					state: 'way',
				});
	};
	join(entrances, columns.host, seconds);
	join(names, columns.rule, rules);
	picture.texts.push(...entrances, ...names);
}

export function layoutRoute(
	route: RouterRoute,
	listeners: RouterListener[],
	pools: RouterPool[],
	width: number,
): RoutePicture {
	const narrow = width < 720;
	const picture: RoutePicture = {
		width,
		height: 0,
		narrow,
		texts: [],
		pools: [],
		servers: [],
		links: [],
		left: Math.max(0, route.rules.length - DRAWN.rules),
	};
	const d: Drawing = {
		picture,
		columns: columnsOf(width, narrow),
		pools: new Map(pools.map((one) => [one.name, one])),
	};
	let top = GAP / 2;
	const rules = route.rules.slice(0, DRAWN.rules).map((_, index) => {
		const added = addRule(d, route, index, top);
		top = added.next;
		return added.y;
	});
	const least = narrow ? 1 : Math.min(DRAWN.hosts, Math.max(1, route.hosts.length));
	picture.height = Math.max(top - GAP / 2, least * ROW + GAP);
	if (!narrow) addEntrances(d, route, listeners, rules);
	return picture;
}

/** The picture as one sentence, for screen readers. */
export function describeRoute(route: RouterRoute, pools: RouterPool[]): string {
	const byName = new Map(pools.map((one) => [one.name, one]));
	const rules = route.rules.map((rule) => {
		if (rule.redirect) return `rule ${rule.name}: redirect, ${rule.redirect}`;
		const parts = rule.backends.map((one) => {
			const servers = (byName.get(one.pool)?.servers ?? [])
				.slice(0, DRAWN.servers)
				.map((server) => `${server.host}:${server.port} ${server.state}`);
			return `${shareText(one.share)} to ${one.pool || '500'} (${servers.join(', ') || 'no server'})`;
		});
		return `rule ${rule.name}: ${parts.join(', ') || 'answered with 500'}`;
	});
	return `Way of the requests of ${route.name}. ${rules.join('; ')}.`;
}
