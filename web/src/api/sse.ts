// SPDX-License-Identifier: Apache-2.0
// Parses the text/event-stream format piece by piece; a piece may end anywhere. EventSource is not used
// because it hides comments (pings), so a silent server looks the same as a dead connection.

export interface SseMessage {
	id: string;
	data: string;
}

export interface SseParser {
	rest: string;
	id: string;
	data: string[];
}

export const newParser = (): SseParser => ({ rest: '', id: '', data: [] });

function takeLine(parser: SseParser, line: string, out: SseMessage[]): void {
	if (line === '') {
		if (parser.data.length > 0) out.push({ id: parser.id, data: parser.data.join('\n') });
		parser.data = [];
		return;
	}
	const colon = line.indexOf(':');
	const field = colon < 0 ? line : line.slice(0, colon);
	const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
	if (field === 'data') parser.data.push(value);
	else if (field === 'id') parser.id = value;
}

/** Takes one more piece of the stream and returns the messages that it completes. */
export function feed(parser: SseParser, text: string): SseMessage[] {
	const out: SseMessage[] = [];
	const lines = (parser.rest + text).split('\n');
	parser.rest = lines.pop() ?? '';
	for (const line of lines) takeLine(parser, line.replace(/\r$/, ''), out);
	return out;
}
