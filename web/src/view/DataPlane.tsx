// SPDX-License-Identifier: Apache-2.0
// The actual state of the data plane beside the wanted one. Differences are marked; very recent ones are
// writes in progress.
import { type Component, createMemo, createSignal, For, Show } from 'solid-js';
import type { LbInterface, LbServer, LbVip, VppInfo, VppMessages } from '../api/types.ts';
import {
	type Difference,
	differenceOf,
	differences,
	isSettled,
	rowKey,
	statusOf,
	vipKey,
} from '../model/dataplane.ts';
import { num, plural, scaled, vipText } from '../model/format.ts';
import type { ServerView } from '../model/state.ts';
import { linkTo } from '../route.ts';
import { now } from '../store.ts';
import { SyncAction } from './Actions.tsx';
import { VerdictIcon } from './Icons.tsx';
import { Age, Ago, Fact, Flash, onChange, Panel } from './parts.tsx';
import { Each, MORE, ShowMore } from './rows.tsx';
import { GroupHead, type Head, Table } from './Table.tsx';

const WORDS: Record<Difference, string> = {
	missing: 'missing in the data plane',
	extra: 'nobody asks for it',
	weight: 'weight differs',
};

const Verdict: Component<{ kind: Difference | null; since: number | undefined }> = (props) => (
	<Show when={props.kind} fallback={<span class="muted">as wanted</span>}>
		{(kind) => (
			<Show
				when={isSettled(props.since, now())}
				fallback={<span class="chip chip-info">settling</span>}
			>
				<span class="difference">
					<VerdictIcon verdict="warning" /> {WORDS[kind()]}
				</span>
			</Show>
		)}
	</Show>
);

const weightText = (there: boolean, weight: number): string => (there ? String(weight) : '–');

/** Columns of the counters that the data plane has for each server. */
export const counted = (server: ServerView): Head[] => [
	...(server.counters?.has_as_buckets ? [{ number: 'Buckets' }] : []),
	...(server.counters?.has_as_flows ? [{ number: 'Flows' }] : []),
];

/** A backend in the data plane, as a server of the VIP of a frontend. */
export const lbServerOf = (
	server: ServerView,
	frontend: string,
	backend: string,
): LbServer | undefined =>
	server.lb?.vips
		.find((vip) => vip.frontend === frontend)
		?.application_servers.find((one) => one.backend === backend);

/** No new flow goes to it, and none is left. */
const Drained: Component<{ lb: LbServer | undefined }> = (props) => (
	<Show when={props.lb?.drained}>
		<span class="chip chip-info" data-drained>
			drained
		</span>{' '}
	</Show>
);

/** The cells of these columns; a dash if the server is not in the data plane, or that is not known. */
export const Counted: Component<{ server: ServerView; lb: LbServer | undefined }> = (props) => {
	const there = () => (props.server.lb?.connected && props.lb?.present ? props.lb : undefined);
	return (
		<>
			<Show when={props.server.counters?.has_as_buckets}>
				<td class="number">{there()?.buckets ?? '–'}</td>
			</Show>
			<Show when={props.server.counters?.has_as_flows}>
				<td class="number">
					<Drained lb={there()} />
					{there() ? num(there()?.flows) : '–'}
				</td>
			</Show>
		</>
	);
};

const ServerRow: Component<{ server: ServerView; vip: LbVip; one: LbServer }> = (props) => {
	const known = () => props.server.lb?.connected ?? false;
	const kind = () => (known() ? differenceOf(props.one) : null);
	return (
		<tr classList={{ differs: kind() !== null }}>
			<th scope="row">
				<Show when={props.one.backend} fallback={<span class="muted">no backend</span>}>
					<a href={linkTo(props.server.name, 'backend', props.one.backend)}>{props.one.backend}</a>
				</Show>
			</th>
			<td class="mono">{props.one.address}</td>
			<td class="number">
				<Flash on={props.one.wanted_weight}>
					{weightText(props.one.wanted, props.one.wanted_weight)}
				</Flash>
			</td>
			<td class="number">
				<Flash on={props.one.weight}>
					{weightText(props.one.present && known(), props.one.weight)}
				</Flash>
			</td>
			<td class="verdict">
				<Show when={known()} fallback={<span class="muted">not known</span>}>
					<Verdict kind={kind()} since={props.server.drift[rowKey(props.vip, props.one)]} />
				</Show>
			</td>
			<Counted server={props.server} lb={props.one} />
		</tr>
	);
};

const heads = (server: ServerView): Head[] => [
	'Backend',
	'Address',
	{ number: 'Wanted' },
	{ number: 'Present' },
	'Verdict',
	...counted(server),
];

interface VipProps {
	server: ServerView;
	onlyDifferences: boolean;
}

const VipRows: Component<VipProps & { vip: LbVip; columns: number }> = (props) => {
	const rows = () =>
		props.vip.application_servers.filter((one) => !props.onlyDifferences || differenceOf(one));
	return (
		<tbody>
			<GroupHead columns={props.columns}>
				<span class="mono">{vipText(props.vip)}</span>{' '}
				<Show when={props.vip.frontend} fallback={<span class="muted">no frontend</span>}>
					<a href={linkTo(props.server.name, 'frontend', props.vip.frontend)}>
						{props.vip.frontend}
					</a>
				</Show>{' '}
				<span class="muted">{props.vip.encap}</span>{' '}
				<Show when={differenceOf(props.vip) && props.server.lb?.connected}>
					<Verdict kind={differenceOf(props.vip)} since={props.server.drift[vipKey(props.vip)]} />
				</Show>
			</GroupHead>
			<Each of={rows()} by={(one) => one.address}>
				{(one) => <ServerRow server={props.server} vip={props.vip} one={one()} />}
			</Each>
		</tbody>
	);
};

/** VIPs with their servers, wanted and present; a group of rows for each. */
export const VipTable: Component<VipProps & { vips: LbVip[] }> = (props) => {
	const columns = createMemo(() => heads(props.server));
	return (
		<Table label="In the data plane" heads={columns()}>
			<Each of={props.vips} by={vipKey}>
				{(vip) => <VipRows {...props} vip={vip()} columns={columns().length} />}
			</Each>
		</Table>
	);
};

const MESSAGES: Head[] = [
	'Message',
	{ number: '↑ sent' },
	{ number: 'failed' },
	{ number: '↓ received' },
	{ number: 'failed' },
];

/** How long an arrow stays lit. */
const LIT_MS = 3000;

/** Messages one way; the arrow is lit while there are new ones. */
const Arrow: Component<{ sign: string; word: string; count: number }> = (props) => {
	const [at, setAt] = createSignal(0);
	onChange(
		() => props.count,
		() => setAt(now()),
	);
	const lit = () => now() - at() < LIT_MS;
	return (
		<span class="arrow" classList={{ lit: lit() }} data-arrow={props.word}>
			<span class="arrow-sign" aria-hidden="true">
				{props.sign}
			</span>{' '}
			{props.count} <span class="muted">{props.word}</span>
		</span>
	);
};

const total = (messages: VppMessages[], way: 'sent' | 'received'): number =>
	messages.reduce((sum, one) => sum + num(one[way]), 0);

const CHIPS: Record<string, string> = {
	connected: 'chip-ok',
	degraded: 'chip-warn',
	disconnected: 'chip-bad',
};

/** The status of a data plane; a status that is not known here is shown without a colour. */
const Status: Component<{ status: string }> = (props) => (
	<span class={`chip ${CHIPS[props.status] ?? ''}`} data-status={props.status}>
		{props.status === 'unknown' ? 'not known' : props.status}
	</span>
);

const vppStatus = (server: ServerView, info: VppInfo): string => {
	if (!server.connected) return 'unknown';
	return info.connected ? 'connected' : 'disconnected';
};

const Vpp: Component<{ server: ServerView; info: VppInfo }> = (props) => (
	<>
		<dl class="facts">
			<Fact term="VPP">{props.info.version || '–'}</Fact>
			<Fact term="Connection">
				<Status status={vppStatus(props.server, props.info)} />{' '}
				<Age of={props.info.connecttime_ns} />
			</Fact>
			<Fact term="Started">
				<Ago of={props.info.boottime_ns} />
			</Fact>
			<Fact term="Process">{props.info.pid || '–'}</Fact>
			<Fact term="Messages">
				<Arrow sign="↑" word="sent" count={total(props.info.messages ?? [], 'sent')} />{' '}
				<Arrow sign="↓" word="received" count={total(props.info.messages ?? [], 'received')} />
			</Fact>
		</dl>
		<Show when={props.info.messages?.length}>
			<details>
				<summary>Messages of its API</summary>
				<Table label="Messages" heads={MESSAGES}>
					<tbody>
						<Each of={props.info.messages} by={(one) => one.name}>
							{(one) => (
								<tr>
									<th scope="row" class="mono">
										{one().name}
									</th>
									<td class="number">
										<Flash on={num(one().sent)}>{num(one().sent)}</Flash>
									</td>
									<td class="number">{num(one().send_failures)}</td>
									<td class="number">
										<Flash on={num(one().received)}>{num(one().received)}</Flash>
									</td>
									<td class="number">{num(one().receive_failures)}</td>
								</tr>
							)}
						</Each>
					</tbody>
				</Table>
			</details>
		</Show>
	</>
);

/** An interface with the mode of the program on it, or why the program is not there. */
const Interface: Component<{ one: LbInterface; known: boolean }> = (props) => {
	const chip = () => (!props.known ? '' : props.one.attached ? 'chip-ok' : 'chip-bad');
	return (
		<span class="interface" data-interface={props.one.name} data-attached={props.one.attached}>
			<span class={`chip ${chip()}`}>
				<span class="mono">{props.one.name}</span>{' '}
				{props.known ? (props.one.attached ? props.one.mode : 'not attached') : 'not known'}
			</span>{' '}
			<Show when={props.one.problem}>{props.one.problem} </Show>
		</span>
	);
};

const Settings: Component<{ server: ServerView }> = (props) => (
	<Show when={props.server.lb}>
		{(lb) => (
			<dl class="facts">
				<Fact term="Data plane">
					{lb().dataplane} <Status status={statusOf(lb())} />
				</Fact>
				<Show when={!props.server.connected}>
					<Fact term="Last known">
						<Ago of={props.server.since_ns} />
					</Fact>
				</Show>
				<Show when={lb().interfaces?.length}>
					<Fact term="Interfaces">
						<For each={lb().interfaces}>
							{(one) => <Interface one={one} known={props.server.connected} />}
						</For>
					</Fact>
				</Show>
				<Fact term="Warm-up">{lb().warmup}</Fact>
				<Fact term="Guard">
					{lb().held ? <span class="chip chip-bad">holds the weights</span> : 'not active'}
				</Fact>
				<Fact term="Last full sync">
					<Ago of={lb().last_full_sync} />
				</Fact>
				<Fact term="Sources">
					<span class="mono">
						{[lb().ipv4_src_address, lb().ipv6_src_address].filter(Boolean).join(', ') || '–'}
					</span>
				</Fact>
				<Fact term="Flow timeout">{lb().flow_timeout} s</Fact>
				<Show when={num(lb().as_of) > 0}>
					<Fact term="Read">
						<Ago of={lb().as_of} />; it cannot be read now
					</Fact>
				</Show>
				<Show when={lb().problem || props.server.lb_error}>
					<Fact term="Problem">{lb().problem || props.server.lb_error}</Fact>
				</Show>
			</dl>
		)}
	</Show>
);

const Fates: Component<{ server: ServerView }> = (props) => (
	<Show when={props.server.counters?.events?.length}>
		<details>
			<summary>Packets that met another fate</summary>
			<dl class="facts">
				<For each={props.server.counters?.events ?? []}>
					{(one) => <Fact term={one.name}>{scaled(num(one.packets), '')}</Fact>}
				</For>
			</dl>
		</details>
	</Show>
);

/** Most VIPs that are drawn; those with differences are always among them. */
const DRAWN = 40;

const PlanePanel: Component<{ server: ServerView; onlyDifferences: boolean }> = (props) => {
	const lb = createMemo(() => props.server.lb);
	const found = createMemo(() => differences(lb()));
	const [drawn, setDrawn] = createSignal(DRAWN);
	const count = () => lb()?.vips.length ?? 0;
	const vips = createMemo(() =>
		(lb()?.vips ?? []).filter(
			(vip, index) =>
				(!props.onlyDifferences && index < drawn()) ||
				differenceOf(vip) ||
				vip.application_servers.some((one) => differenceOf(one)),
		),
	);
	return (
		<Panel
			title={props.server.name}
			aside={
				<>
					<Show when={props.server.lb?.connected}>
						<span
							class={`chip ${found().length ? 'chip-warn' : ''}`}
							data-differences={found().length}
						>
							{found().length ? plural(found().length, 'difference') : 'no differences'}
						</span>
					</Show>
					<SyncAction server={props.server} />
				</>
			}
		>
			<Show
				when={props.server.lb}
				fallback={
					<p class="muted">{props.server.lb_error || 'Nothing is known of its data plane yet.'}</p>
				}
			>
				<Settings server={props.server} />
				<Show when={props.server.vpp}>{(info) => <Vpp server={props.server} info={info()} />}</Show>
				<Fates server={props.server} />
				<Show when={vips().length} fallback={<p class="muted">Nothing to show.</p>}>
					<VipTable server={props.server} vips={vips()} onlyDifferences={props.onlyDifferences} />
				</Show>
				<Show when={!props.onlyDifferences}>
					<ShowMore
						left={count() - drawn()}
						total={count()}
						what="VIPs"
						onMore={() => setDrawn((before) => before + MORE)}
					/>
				</Show>
			</Show>
		</Panel>
	);
};

export const DataPlane: Component<{ servers: ServerView[] }> = (props) => {
	const [only, setOnly] = createSignal(false);
	return (
		<>
			<div class="page-head">
				<h1>Data plane</h1>
				<span class="muted">what is there beside what should be</span>
				<span class="spacer" />
				<label class="check">
					<input
						type="checkbox"
						checked={only()}
						onChange={(event) => setOnly(event.currentTarget.checked)}
					/>
					only differences
				</label>
			</div>
			<Each of={props.servers} by={(one) => one.name}>
				{(server) => <PlanePanel server={server()} onlyDifferences={only()} />}
			</Each>
		</>
	);
};
