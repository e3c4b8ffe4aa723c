// SPDX-License-Identifier: Apache-2.0
// One route: the way of its requests as a picture, its rules, and the pools that they lead to.
import { type Component, createMemo, For, Show } from 'solid-js';
import type { RouterRoute } from '../api/types.ts';
import { num } from '../model/format.ts';
import {
	errorText,
	hostsText,
	latencyText,
	rateText,
	targetText,
	verdictOf,
} from '../model/routers.ts';
import type { RouterView } from '../model/state.ts';
import { linkTo } from '../route.ts';
import { VerdictIcon } from './Icons.tsx';
import { Age, Fact, Panel } from './parts.tsx';
import { RoutePicture } from './RoutePicture.tsx';
import { PoolRows, SERVER_HEADS } from './RouterTables.tsx';
import { NoRows, Table } from './Table.tsx';

export const RoutePage: Component<{ router: RouterView; route: RouterRoute }> = (props) => {
	const pools = createMemo(() => {
		const used = new Set(props.route.rules.flatMap((rule) => rule.backends.map((one) => one.pool)));
		return props.router.pools.filter((one) => used.has(one.name));
	});
	const names = createMemo(() => pools().map((one) => one.name), [], {
		equals: (a, b) => a.join('\n') === b.join('\n'),
	});
	const verdict = () => verdictOf(props.router, props.route);
	return (
		<>
			<div class="page-head" data-route={props.route.name} data-verdict={verdict()}>
				<VerdictIcon verdict={verdict()} label={verdict()} />
				<h1>{props.route.name}</h1>
				<span class="mono">{hostsText(props.route)}</span>
				<span class="muted">on</span>
				<a href={linkTo('', 'routers')}>{props.router.name}</a>
			</div>
			<Show when={!props.router.connected}>
				<p class="banner" role="status">
					No contact with {props.router.name} for <Age of={props.router.since_ns} />: its state is
					not known. {props.router.error}
				</p>
			</Show>
			<dl class="facts">
				<Fact term="Listeners">{props.route.listeners.join(', ') || 'all'}</Fact>
				<Fact term="Rate">{rateText(props.route.traffic)}</Fact>
				<Fact term="Errors">{errorText(props.route.traffic)}</Fact>
				<Fact term="p50">{latencyText(props.route.traffic?.p50)}</Fact>
				<Fact term="p99">{latencyText(props.route.traffic?.p99)}</Fact>
				<Fact term="Requests">
					{props.route.traffic ? num(props.route.traffic.requests) : 'not known'}
				</Fact>
			</dl>
			<Panel title="Way of a request">
				<RoutePicture router={props.router} route={props.route} />
			</Panel>
			<Panel title="Rules">
				<Table label="Rules" heads={['Rule', 'Matches', 'Leads to', 'Does']}>
					<tbody>
						<For each={props.route.rules} fallback={<NoRows columns={4}>No rule.</NoRows>}>
							{(rule) => (
								<tr data-rule={rule.name}>
									<th scope="row">{rule.name}</th>
									<td class="words mono">
										{rule.matches.join(' or ') || (props.route.fallback ? 'everything else' : '–')}
									</td>
									<td class="words">{targetText(rule)}</td>
									<td class="words">{rule.filters.join(', ') || <span class="muted">–</span>}</td>
								</tr>
							)}
						</For>
					</tbody>
				</Table>
			</Panel>
			<Panel title="Pools">
				<Table label="Pools" heads={SERVER_HEADS}>
					<For each={names()}>
						{(name) => (
							<Show when={pools().find((one) => one.name === name)}>
								{(pool) => <PoolRows router={props.router} pool={pool()} />}
							</Show>
						)}
					</For>
				</Table>
			</Panel>
		</>
	);
};
