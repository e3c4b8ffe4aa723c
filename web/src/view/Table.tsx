// SPDX-License-Identifier: Apache-2.0
// Tables: the names of the columns from a list, and a frame in which a wide one scrolls.
import { type Component, For, type ParentComponent } from 'solid-js';

/** The title of a column: of text, of numbers, or one that only screen readers see. */
export type Head = string | { number: string } | { unseen: string };

const HeadCell: Component<{ of: Head }> = (props) => {
	const { of } = props;
	if (typeof of === 'string') return <th scope="col">{of}</th>;
	if ('number' in of)
		return (
			<th scope="col" class="number">
				{of.number}
			</th>
		);
	return (
		<th scope="col">
			<span class="sr-only">{of.unseen}</span>
		</th>
	);
};

export const Heads: Component<{ of: Head[] }> = (props) => (
	<thead>
		<tr>
			<For each={props.of}>{(one) => <HeadCell of={one} />}</For>
		</tr>
	</thead>
);

interface TableProps {
	label: string;
	heads: Head[];
}

/** The children are <tbody> elements. On a narrow screen the table scrolls by itself, also by keyboard. */
export const Table: ParentComponent<TableProps> = (props) => (
	<div class="table-wrap" role="region" aria-label={props.label} tabindex="0">
		<table>
			<Heads of={props.heads} />
			{props.children}
		</table>
	</div>
);

/** The heading of a group of rows, in the <tbody> of the group: groups share their columns. */
export const GroupHead: ParentComponent<{ columns: number }> = (props) => (
	<tr class="group-head">
		<th scope="rowgroup" colspan={props.columns}>
			{props.children}
		</th>
	</tr>
);

/** The row of a table that has no rows. */
export const NoRows: ParentComponent<{ columns: number }> = (props) => (
	<tr>
		<td colspan={props.columns} class="muted">
			{props.children}
		</td>
	</tr>
);
