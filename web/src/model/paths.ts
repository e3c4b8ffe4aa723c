// SPDX-License-Identifier: Apache-2.0
// The layout of the path picture: the VIP on the left, its pools in the middle, their backends on the
// right. The width of a line is its share of the new flows. Pure.
import type { Frontend, Pool, PoolBackend } from '../api/types.ts';

export interface PathLink {
	d: string;
	width: number;
	idle: boolean;
	state: string;
}

export interface PathPool {
	name: string;
	active: boolean;
	x: number;
	y: number;
	width: number;
}

export interface PathBackend {
	backend: PoolBackend;
	share: number;
	x: number;
	y: number;
}

export interface PathPicture {
	width: number;
	height: number;
	narrow: boolean;
	vip: { x: number; y: number };
	pools: PathPool[];
	backends: PathBackend[];
	links: PathLink[];
}

const ROW = 40;
const GAP = 14;
const WIDEST = 26;
const THINNEST = 1.5;

export const curve = (x0: number, y0: number, x1: number, y1: number): string => {
	const middle = (x0 + x1) / 2;
	return `M${x0} ${y0} C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`;
};

/** Width of a line with this share of all new flows; a line without flows is thin, not invisible. */
export const lineWidth = (share: number): number =>
	share <= 0 ? 1 : Math.max(THINNEST, share * WIDEST);

const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0);

interface Columns {
	vip: number;
	pool: number;
	poolWidth: number;
	backend: number;
}

/** The x of each column; a narrow picture has no room for the text of the VIP. */
function columnsOf(width: number, narrow: boolean): Columns {
	const vip = narrow ? 12 : Math.min(190, width * 0.24);
	const backend = width - (narrow ? 120 : 170);
	const poolWidth = narrow ? 72 : 104;
	return { vip, pool: vip + (backend - vip) * 0.42 - poolWidth / 2, poolWidth, backend };
}

/** The centres of lines of these widths that leave one point side by side. */
export function fan(widths: number[], centre: number): number[] {
	let at = centre - sum(widths) / 2;
	return widths.map((width) => {
		at += width;
		return at - width / 2;
	});
}

/** The backends of one pool from this y on, and the lines that lead to them. */
function addPool(
	picture: PathPicture,
	pool: Pool,
	columns: Columns,
	total: number,
	top: number,
): number {
	const height = Math.max(1, pool.backends.length) * ROW;
	const y = top + height / 2;
	const shares = pool.backends.map((one) => (total > 0 ? one.effective_weight / total : 0));
	const starts = fan(shares.map(lineWidth), y);
	picture.pools.push({
		name: pool.name,
		active: pool.active,
		x: columns.pool,
		y,
		width: columns.poolWidth,
	});
	pool.backends.forEach((backend, row) => {
		const share = shares[row] ?? 0;
		const end = top + row * ROW + ROW / 2;
		picture.backends.push({ backend, share, x: columns.backend, y: end });
		picture.links.push({
			d: curve(columns.pool + columns.poolWidth, starts[row] ?? y, columns.backend - 14, end),
			width: lineWidth(share),
			idle: share === 0,
			state: backend.state,
		});
	});
	return top + height + GAP;
}

/** The lines from the VIP to its pools. */
function addTrunks(picture: PathPicture, shares: number[], columns: Columns): void {
	const starts = fan(shares.map(lineWidth), picture.vip.y);
	shares.forEach((share, index) => {
		const y = picture.pools[index]?.y ?? 0;
		picture.links.push({
			d: curve(columns.vip, starts[index] ?? picture.vip.y, columns.pool, y),
			width: lineWidth(share),
			idle: share === 0,
			state: 'up',
		});
	});
}

export function layout(frontend: Frontend, width: number): PathPicture {
	const narrow = width < 560;
	const columns = columnsOf(width, narrow);
	const weights = frontend.pools.map((p) => sum(p.backends.map((b) => b.effective_weight)));
	const total = sum(weights);
	const picture: PathPicture = {
		width,
		height: 0,
		narrow,
		vip: { x: columns.vip, y: 0 },
		pools: [],
		backends: [],
		links: [],
	};
	let top = GAP / 2;
	for (const pool of frontend.pools) top = addPool(picture, pool, columns, total, top);
	picture.height = Math.max(top - GAP / 2, ROW);
	picture.vip.y = picture.height / 2;
	addTrunks(
		picture,
		weights.map((weight) => (total > 0 ? weight / total : 0)),
		columns,
	);
	return picture;
}

/** The picture as one sentence, for screen readers. */
export function describe(frontend: Frontend): string {
	const total = sum(frontend.pools.flatMap((p) => p.backends.map((b) => b.effective_weight)));
	const parts = frontend.pools.map((pool) => {
		const backends = pool.backends.map((one) => {
			const share = total > 0 ? Math.round((100 * one.effective_weight) / total) : 0;
			return `${one.name} ${one.state} ${share} %`;
		});
		return `pool ${pool.name}${pool.active ? ', active' : ''}: ${backends.join(', ') || 'empty'}`;
	});
	return `Share of new flows of ${frontend.name}. ${parts.join('; ')}.`;
}
