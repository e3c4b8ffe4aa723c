// SPDX-License-Identifier: Apache-2.0
// One backend: its state with the reason, its latency, its traffic, and the frontends that use it.
import { type Component, createMemo, For, Show } from 'solid-js';
import type { Backend, HealthCheck } from '../api/types.ts';
import { dateTime, duration, ms } from '../model/format.ts';
import { whoOf } from '../model/overrides.ts';
import { backendKey, latencyKey } from '../model/series.ts';
import { reasonOf, type ServerView } from '../model/state.ts';
import { createPast } from '../past.ts';
import { linkTo } from '../route.ts';
import { BackendMenu } from './Actions.tsx';
import { Chart } from './Chart.tsx';
import { Counted, counted, lbServerOf } from './DataPlane.tsx';
import { bits, milliseconds, NoPoints, packets } from './FrontendPage.tsx';
import { StateIcon } from './Icons.tsx';
import { SpanSwitch, StateStrip } from './Past.tsx';
import {
	Age,
	Ago,
	Fact,
	Heartbeat,
	LastKnown,
	OverrideNote,
	Panel,
	ScheduleNote,
	StateWord,
} from './parts.tsx';
import { bounded, Each, ShowMore } from './rows.tsx';
import { type Head, NoRows, Table } from './Table.tsx';

/** The health counter as steps: below rise the backend is down, otherwise up. */
const Counter: Component<{ backend: Backend }> = (props) => {
	const steps = () =>
		Array.from({ length: props.backend.rise + props.backend.fall - 1 }, (_, i) => i + 1);
	const text = () => `${props.backend.counter} of ${steps().length}, up from ${props.backend.rise}`;
	return (
		<span class="counter">
			<span aria-hidden="true" class="counter-steps">
				<For each={steps()}>
					{(step) => (
						<i
							classList={{
								on: step <= props.backend.counter,
								up: step >= props.backend.rise,
							}}
						/>
					)}
				</For>
			</span>
			{text()}
		</span>
	);
};

const checkText = (check: HealthCheck): string => {
	const where = check.port ? ` port ${check.port}` : '';
	const path = check.path ? ` ${check.path}` : '';
	return `${check.type}${where}${path}`;
};

const Probes: Component<{ backend: Backend; check: HealthCheck | undefined }> = (props) => (
	<Panel title="Health check">
		<dl class="facts">
			<Fact term="Check">
				<Show when={props.check} fallback="none: always up">
					{(check) => (
						<>
							{check().name} <span class="muted">{checkText(check())}</span>
						</>
					)}
				</Show>
			</Fact>
			<Show when={props.check}>
				{(check) => (
					<Fact term="Every">
						{duration(check().interval)}
						<span class="muted">
							{' '}
							(in doubt {duration(check().fast_interval)}, down {duration(check().down_interval)})
						</span>
					</Fact>
				)}
			</Show>
			<Fact term="Last probe">
				<span class="mono">{props.backend.last_code || '–'}</span>{' '}
				<Heartbeat beat={props.backend.last_probe} /> <Ago of={props.backend.last_probe} />
			</Fact>
			<Fact term="Took">{duration(props.backend.last_duration)}</Fact>
			<Fact term="Counter">
				<Counter backend={props.backend} />
			</Fact>
			<Show when={props.backend.last_reason}>
				<Fact term="Why">{props.backend.last_reason}</Fact>
			</Show>
		</dl>
	</Panel>
);

const HISTORY: Head[] = [{ number: 'Ago' }, 'Change', 'Code', 'Reason', 'When'];

/** Without contact the icons have no colour: what was good then may not be so now. */
const History: Component<{ backend: Backend }> = (props) => (
	<Panel title="Transitions">
		<Table label="Transitions" heads={HISTORY}>
			<tbody>
				<For
					each={props.backend.transitions}
					fallback={<NoRows columns={HISTORY.length}>None.</NoRows>}
				>
					{(one, index) => (
						<tr>
							<td class="number">
								<Age of={one.at} />
							</td>
							<td>
								<span class="change">
									<StateIcon state={props.backend.was ? 'unknown' : one.from} /> {one.from} →{' '}
									<StateIcon state={props.backend.was ? 'unknown' : one.to} /> {one.to}
								</span>
							</td>
							<td class="mono">{one.code}</td>
							<td class="reason">
								{reasonOf(props.backend, index()) || '–'}
								<Show when={one.operator || one.operator_address}>
									<span class="muted"> {whoOf(one)}</span>
								</Show>
							</td>
							<td class="mono">{dateTime(ms(one.at))}</td>
						</tr>
					)}
				</For>
			</tbody>
		</Table>
	</Panel>
);

const users = (server: ServerView): Head[] => [
	'Frontend',
	'Pool',
	{ number: 'Weight' },
	{ number: 'Effective' },
	...counted(server),
	{ unseen: 'Actions' },
];

const Users: Component<{ server: ServerView; backend: string }> = (props) => {
	const frontends = createMemo(() => props.server.frontends);
	const rows = createMemo(() =>
		frontends().flatMap((frontend) =>
			frontend.pools.flatMap((pool) =>
				pool.backends
					.filter((one) => one.name === props.backend)
					.map((one) => ({ frontend, pool, one })),
			),
		),
	);
	const shown = bounded(rows);
	return (
		<Panel title="Used by">
			<Table label="Used by" heads={users(props.server)}>
				<tbody>
					<Each
						of={shown.shown()}
						by={(row) => `${row.frontend.name}\n${row.pool.name}`}
						fallback={<NoRows columns={users(props.server).length}>No frontend.</NoRows>}
					>
						{(row) => (
							<tr>
								<th scope="row">
									<a href={linkTo(props.server.name, 'frontend', row().frontend.name)}>
										{row().frontend.name}
									</a>
								</th>
								<td>
									{row().pool.name} {row().pool.active ? <span class="chip">active</span> : ''}
								</td>
								<td class="number">{row().one.weight}</td>
								<td class="number">{row().one.effective_weight}</td>
								<Counted
									server={props.server}
									lb={lbServerOf(props.server, row().frontend.name, props.backend)}
								/>
								<td class="actions">
									<BackendMenu
										server={props.server}
										backend={props.backend}
										frontend={row().frontend}
										pool={row().pool}
									/>
								</td>
							</tr>
						)}
					</Each>
				</tbody>
			</Table>
			<ShowMore left={shown.left()} total={rows().length} onMore={shown.showMore} />
		</Panel>
	);
};

const Charts: Component<{ server: string; backend: string }> = (props) => {
	const past = createPast(
		() => props.server,
		() => [{ kind: 'backend', name: props.backend }],
	);
	const latency = () => past.ring(latencyKey(props.server, props.backend));
	const traffic = () => past.ring(backendKey(props.server, props.backend));
	return (
		<>
			<SpanSwitch />
			<div class="columns">
				<Panel title="Probes">
					<Show
						when={latency()}
						fallback={<NoPoints past={past}>No probe has answered yet.</NoPoints>}
					>
						<Chart
							title="Time of a probe that passed"
							lines={[{ label: props.backend, ring: latency(), line: 0 }]}
							format={milliseconds}
							least={1}
						/>
					</Show>
					<StateStrip states={past.states(props.backend)} />
				</Panel>
				<Panel title="Traffic">
					<Show
						when={traffic()}
						fallback={
							<NoPoints past={past}>The data plane has not counted anything for it yet.</NoPoints>
						}
					>
						<Chart
							title="Packets a second"
							lines={[{ label: 'packets', ring: traffic(), line: 0 }]}
							format={packets}
							least={10}
						/>
						<Chart
							title="Bits a second"
							lines={[{ label: 'bits', ring: traffic(), line: 1 }]}
							format={bits}
							least={10_000}
						/>
					</Show>
				</Panel>
			</div>
		</>
	);
};

export const BackendPage: Component<{ server: ServerView; backend: Backend }> = (props) => (
	<>
		<div class="page-head">
			<StateIcon state={props.backend.state} label={props.backend.state} />
			<h1>{props.backend.name}</h1>
			<span class="mono">{props.backend.address}</span>
			<span class="muted">on</span>
			<a href={linkTo(props.server.name)}>{props.server.name}</a>
			<span>
				<StateWord state={props.backend.state} />{' '}
				<Show when={props.backend.was} fallback={<Age of={props.backend.since} />}>
					<LastKnown was={props.backend.was} since={props.server.since_ns} />
				</Show>
			</span>
			<OverrideNote override={props.backend.override} />
			<ScheduleNote override={props.backend.scheduled} />
			<span class="spacer" />
			<BackendMenu server={props.server} backend={props.backend.name} />
		</div>
		<div class="columns">
			<Probes
				backend={props.backend}
				check={props.server.healthchecks.find((one) => one.name === props.backend.healthcheck)}
			/>
			<Users server={props.server} backend={props.backend.name} />
		</div>
		<Charts server={props.server.name} backend={props.backend.name} />
		<History backend={props.backend} />
	</>
);
