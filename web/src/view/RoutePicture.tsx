// SPDX-License-Identifier: Apache-2.0
// The way of a route's requests: listener, host, rule, pool, server. All of it is also in the tables below it.
import {
	type Component,
	createMemo,
	createSignal,
	Index,
	onCleanup,
	onMount,
	Show,
} from 'solid-js';
import type { RouterRoute } from '../api/types.ts';
import { fitted, plural } from '../model/format.ts';
import { describeRoute, layoutRoute, type RouteServer } from '../model/routepath.ts';
import { iconOf, rateText, shareText } from '../model/routers.ts';
import type { RouterView } from '../model/state.ts';
import { StateIcon } from './Icons.tsx';
import { PathPool } from './PathPicture.tsx';

/** A narrow picture has no room for rates, which are in the table below it. */
const serverText = ({ server, share }: RouteServer, narrow: boolean): string =>
	[server.state, shareText(share), narrow ? '' : rateText(server.traffic)]
		.filter(Boolean)
		.join(' · ');

export const RoutePicture: Component<{ router: RouterView; route: RouterRoute }> = (props) => {
	let host: HTMLDivElement | undefined;
	const [width, setWidth] = createSignal(900);
	const picture = createMemo(() =>
		layoutRoute(props.route, props.router.listeners, props.router.pools, width()),
	);

	onMount(() => {
		if (!host) return;
		const observer = new ResizeObserver(([entry]) => {
			if (entry) setWidth(Math.max(300, Math.round(entry.contentRect.width)));
		});
		observer.observe(host);
		onCleanup(() => observer.disconnect());
	});

	return (
		<div ref={host} class="paths" classList={{ stale: !props.router.connected }} data-picture>
			<svg
				width={picture().width}
				height={picture().height}
				viewBox={`0 0 ${picture().width} ${picture().height}`}
				role="img"
				aria-label={describeRoute(props.route, props.router.pools)}
			>
				<g fill="none">
					<Index each={picture().links}>
						{(link) => (
							<path
								d={link().d}
								class="path-link"
								classList={{
									idle: link().idle,
									cut: link().idle && link().state === 'down',
									way: link().state === 'way',
								}}
								stroke-width={link().width}
							/>
						)}
					</Index>
				</g>
				<Index each={picture().texts}>
					{(one) => (
						<g transform={`translate(${one().x} ${one().y})`}>
							<text y={one().small ? -2 : 4} class="path-name">
								<title>{one().text}</title>
								{fitted(one().text, one().width)}
							</text>
							<Show when={one().small}>
								<text y="13" class="path-small">
									{fitted(one().small, one().width * 1.2)}
								</text>
							</Show>
						</g>
					)}
				</Index>
				<Index each={picture().pools}>
					{(pool) => <PathPool of={pool()} active={pool().usable} />}
				</Index>
				<Index each={picture().servers}>
					{(one) => (
						<g transform={`translate(${one().x} ${one().y})`} class="path-backend">
							<svg x="-8" y="-8" width="16" height="16" aria-hidden="true">
								<StateIcon state={iconOf(one().server.state)} />
							</svg>
							<text x="16" y="-1" class="path-name">
								{fitted(
									`${one().server.host}:${one().server.port}`,
									picture().width - one().x - 16,
								)}
							</text>
							<text x="16" y="13" class="path-small">
								{serverText(one(), picture().narrow)}
							</text>
						</g>
					)}
				</Index>
			</svg>
			<Show when={picture().left > 0}>
				<p class="muted">{plural(picture().left, 'more item is', 'more items are')} not drawn.</p>
			</Show>
		</div>
	);
};
