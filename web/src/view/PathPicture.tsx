// SPDX-License-Identifier: Apache-2.0
// The path of a new flow: VIP, pool, backend. All its information is also in the table below it.
import {
	type Component,
	createMemo,
	createSignal,
	Index,
	onCleanup,
	onMount,
	Show,
} from 'solid-js';
import type { Frontend } from '../api/types.ts';
import { fitted, vipText } from '../model/format.ts';
import { describe, layout } from '../model/paths.ts';
import { linkTo } from '../route.ts';
import { StateIcon } from './Icons.tsx';

const percent = (share: number): string => {
	if (share <= 0) return '0 %';
	return share < 0.01 ? '<1 %' : `${Math.round(share * 100)} %`;
};

/** A pool of a picture. */
export const PathPool: Component<{
	of: { x: number; y: number; width: number; name: string };
	active: boolean;
}> = (props) => (
	<g transform={`translate(${props.of.x} ${props.of.y})`} classList={{ active: props.active }}>
		<rect class="path-pool" y="-13" width={props.of.width} height="26" rx="13" />
		<text x={props.of.width / 2} y="4" text-anchor="middle" class="path-pool-name">
			{fitted(props.of.name, props.of.width - 12)}
		</text>
	</g>
);

export const PathPicture: Component<{ server: string; frontend: Frontend }> = (props) => {
	let host: HTMLDivElement | undefined;
	const [width, setWidth] = createSignal(800);
	const picture = createMemo(() => layout(props.frontend, width()));

	onMount(() => {
		if (!host) return;
		const observer = new ResizeObserver(([entry]) => {
			if (entry) setWidth(Math.max(300, Math.round(entry.contentRect.width)));
		});
		observer.observe(host);
		onCleanup(() => observer.disconnect());
	});

	return (
		<div ref={host} class="paths" classList={{ stale: props.frontend.was !== undefined }}>
			<svg
				width={picture().width}
				height={picture().height}
				viewBox={`0 0 ${picture().width} ${picture().height}`}
				role="group"
				aria-label={describe(props.frontend)}
			>
				<g fill="none">
					<Index each={picture().links}>
						{(link) => (
							<path
								d={link().d}
								class="path-link"
								classList={{ idle: link().idle, cut: link().idle && link().state === 'down' }}
								stroke-width={link().width}
							/>
						)}
					</Index>
				</g>
				<g transform={`translate(${picture().vip.x} ${picture().vip.y})`}>
					<circle r="7" class="path-vip" />
					<Show when={!picture().narrow}>
						<text x="-16" y="-4" text-anchor="end" class="path-name">
							{fitted(props.frontend.name, picture().vip.x - 16)}
						</text>
						<text x="-16" y="13" text-anchor="end" class="path-small">
							{vipText(props.frontend)}
						</text>
					</Show>
				</g>
				<Index each={picture().pools}>
					{(pool) => <PathPool of={pool()} active={pool().active} />}
				</Index>
				<Index each={picture().backends}>
					{(one) => (
						<g transform={`translate(${one().x} ${one().y})`}>
							<a href={linkTo(props.server, 'backend', one().backend.name)} class="path-backend">
								<rect
									x="-12"
									y="-17"
									width={picture().width - one().x + 10}
									height="34"
									rx="6"
									class="path-hit"
								/>
								<svg x="-8" y="-8" width="16" height="16" aria-hidden="true">
									<StateIcon state={one().backend.state} />
								</svg>
								<text x="16" y="-1" class="path-name">
									{fitted(one().backend.name, picture().width - one().x - 16)}
								</text>
								<text x="16" y="13" class="path-small">
									{`${one().backend.state} · ${percent(one().share)}`}
								</text>
							</a>
						</g>
					)}
				</Index>
			</svg>
		</div>
	);
};
