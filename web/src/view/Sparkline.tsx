// SPDX-License-Identifier: Apache-2.0
// A small line without axes: the last minutes of one ring.
import { type Component, createMemo, Show } from 'solid-js';
import type { Ring } from '../model/series.ts';
import { drawn, ringOf } from '../store.ts';

const WIDTH = 160;
const HEIGHT = 28;
const POINTS = 60;

/** The path of the sum of all lines except those left out; interrupted at gaps. */
export function sparkPath(ring: Ring, lines: number[]): string {
	const from = Math.max(0, ring.times.length - POINTS);
	const sums = ring.times.slice(from).map((_, index) => {
		const values = lines.map((line) => ring.values[line]?.[from + index] ?? null);
		return values.every((value) => value === null)
			? null
			: values.reduce<number>((total, value) => total + (value ?? 0), 0);
	});
	const most = Math.max(...sums.map((value) => value ?? 0), 1e-9);
	let pen = 'M';
	return sums
		.map((value, index) => {
			if (value === null) {
				pen = 'M';
				return '';
			}
			const x = (WIDTH * index) / Math.max(1, sums.length - 1);
			const piece = `${pen}${x.toFixed(1)} ${(HEIGHT - 2 - (value / most) * (HEIGHT - 4)).toFixed(1)}`;
			pen = 'L';
			return piece;
		})
		.join('');
}

export const Sparkline: Component<{ of: string; lines: number[] }> = (props) => {
	/** Most updates bring no point for this line. */
	const newest = createMemo(() => {
		drawn();
		return ringOf(props.of)?.times.at(-1);
	});
	const path = createMemo(() => {
		newest();
		const ring = ringOf(props.of);
		return ring && ring.times.length > 1 ? sparkPath(ring, props.lines) : '';
	});
	return (
		<Show when={path()}>
			<svg
				class="spark"
				viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
				preserveAspectRatio="none"
				aria-hidden="true"
			>
				<path d={path()} />
			</svg>
		</Show>
	);
};
