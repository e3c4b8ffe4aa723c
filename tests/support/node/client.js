// SPDX-License-Identifier: Apache-2.0
// node client.js PORT http|ws: checks what comes back and prints a result as JSON, or fails.
'use strict';
const assert = require('assert');
const crypto = require('crypto');
const http = require('http');
const WebSocket = require('ws');

const [port, what] = [Number(process.argv[2]), process.argv[3]];

function ask(agent, options, parts = []) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, agent, ...options }, (response) => {
      const chunks = [];
      response.on('data', (data) => chunks.push(data));
      response.on('end', () => resolve({ response, body: Buffer.concat(chunks), hints }));
      response.on('error', reject);
    });
    let hints = null;
    request.on('information', (info) => { hints = info; });
    request.on('error', reject);
    for (const part of parts) request.write(part);
    if (options.trailers) request.addTrailers(options.trailers);
    request.end();
  });
}

async function checkUpload(agent, size) {
  const body = crypto.randomBytes(size);
  const { body: answer } = await ask(agent, { method: 'POST', path: `/up/${size}`, trailers: { 'X-Sum': '9' },
    headers: { Trailer: 'X-Sum', 'Transfer-Encoding': 'chunked' } }, [body.subarray(0, size >> 1), body.subarray(size >> 1)]);
  const got = JSON.parse(answer);
  assert.strictEqual(got.length, size);
  assert.strictEqual(got.sha256, crypto.createHash('sha256').update(body).digest('hex'));
  assert.strictEqual(got.trailers['x-sum'], '9');
}

async function runHttp() {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  const gets = [];
  for (let i = 0; i < 400; i++) gets.push(ask(agent, { path: `/get/${i}?q=${i}` }));
  (await Promise.all(gets)).forEach(({ response, body }, i) => {
    assert.strictEqual(response.statusCode, 200);
    assert.strictEqual(JSON.parse(body).url, `/get/${i}?q=${i}`);
  });
  for (const size of [2, 1000, 16384, 70000, 1000000]) await checkUpload(agent, size);
  const trailers = await ask(agent, { path: '/trailers' });
  assert.strictEqual(trailers.body.toString(), 'one two');
  assert.strictEqual(trailers.response.trailers['x-sum'], '7');
  const early = await ask(agent, { path: '/early' });
  assert.strictEqual(early.hints.statusCode, 103);
  assert.strictEqual(early.body.toString(), 'late');
  const head = await ask(agent, { method: 'HEAD', path: '/head' });
  assert.strictEqual(head.body.length, 0);
  agent.destroy();
  return { requests: 400 };
}

function opened(socket) {
  return new Promise((resolve, reject) => { socket.on('open', resolve); socket.on('error', reject); });
}

function closed(socket) {
  return new Promise((resolve) => socket.on('close', (code, reason) => resolve([code, reason.toString()])));
}

async function runSocket() {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`, { perMessageDeflate: false });
  await opened(socket);
  const sizes = [0, 1, 125, 126, 127, 65535, 65536, 1000000, 5000000];
  const messages = sizes.map((size) => crypto.randomBytes(size));
  const answers = [];
  const all = new Promise((resolve) => socket.on('message', (data) => {
    answers.push(data);
    if (answers.length === messages.length) resolve();
  }));
  for (const message of messages) socket.send(message);
  await all;
  messages.forEach((message, i) => assert(message.equals(answers[i])));
  const pong = new Promise((resolve) => socket.on('pong', resolve));
  socket.ping('are you there');
  assert.strictEqual((await pong).toString(), 'are you there');
  const end = closed(socket);
  socket.close(4000, 'done');
  assert.deepStrictEqual(await end, [4000, 'done']);
  const other = new WebSocket(`ws://127.0.0.1:${port}/socket`);
  await opened(other);
  const left = closed(other);
  other.send('leave');
  assert.deepStrictEqual(await left, [4001, 'asked to']);
  return { messages: sizes.length };
}

(what === 'ws' ? runSocket : runHttp)().then((result) => console.log(JSON.stringify(result)))
  .catch((error) => { console.error(error); process.exit(1); });
