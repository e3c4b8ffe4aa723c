// SPDX-License-Identifier: Apache-2.0
//
// usage: node things.js serve | node things.js call ADDRESS
//
// The service lab.Things, whose messages are plain bytes, as of tests/support/grpc/server.py. The server prints its port; the client
// makes calls of all four kinds and prints what came back, as JSON.
'use strict';

const grpc = require('@grpc/grpc-js');

const [mode, address] = process.argv.slice(2);
const bytes = (buffer) => buffer;
const method = (name, requestStream, responseStream) => ({
  path: `/lab.Things/${name}`, requestStream, responseStream,
  requestSerialize: bytes, requestDeserialize: bytes, responseSerialize: bytes, responseDeserialize: bytes,
});
const service = {
  Unary: method('Unary', false, false), Give: method('Give', false, true), Collect: method('Collect', true, false),
  Chat: method('Chat', true, true), Fail: method('Fail', false, false),
};

const last = (call) => {
  const metadata = new grpc.Metadata();
  metadata.set('x-last', String(call.metadata.get('x-first')[0] || ''));
  return metadata;
};

const handlers = {
  Unary: (call, done) => done(null, call.request, last(call)),
  Give: (call) => {
    const [number, size] = call.request.toString().split(' ').map(Number);
    for (let i = 0; i < number; i++) call.write(Buffer.alloc(size, '.'));
    call.end(last(call));
  },
  Collect: (call, done) => {
    let number = 0, size = 0;
    call.on('data', (message) => { number++; size += message.length; });
    call.on('end', () => done(null, Buffer.from(`${number} ${size}`), last(call)));
  },
  Chat: (call) => {
    call.on('data', (message) => call.write(message));
    call.on('end', () => call.end(last(call)));
  },
  Fail: (call, done) => {
    const [code, ...text] = call.request.toString().split(' ');
    done({ code: Number(code), details: text.join(' '), metadata: last(call) });
  },
};

function serve() {
  const server = new grpc.Server({ 'grpc.max_receive_message_length': -1 });
  server.addService(service, handlers);
  server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
    if (error) throw error;
    console.log(port);
  });
  process.on('SIGTERM', () => process.exit(0));
}

// The whole of one call: its messages, its code and what came last.
function whole(start, requests) {
  return new Promise((resolve) => {
    const result = { messages: [], bytes: 0 };
    const call = start((error, message) => { if (message) call.emit('data', message); });
    call.on('data', (message) => { result.messages.push(message.toString('latin1').slice(0, 20)); result.bytes += message.length; });
    call.on('error', () => {});
    call.on('status', (status) => resolve({ ...result, code: status.code, text: status.details, last: status.metadata.get('x-last')[0] }));
    for (const request of requests || []) call.write(request);
    if (requests) call.end();
  });
}

async function main() {
  const Client = grpc.makeGenericClientConstructor(service, 'Things');
  const client = new Client(address, grpc.credentials.createInsecure(), { 'grpc.enable_retries': 0, 'grpc.max_receive_message_length': -1 });
  const metadata = new grpc.Metadata();
  const options = { deadline: Date.now() + 20000 };
  const large = Buffer.alloc(4 << 20, 'x');
  metadata.set('x-first', 'thing');
  console.log(JSON.stringify({
    unary: await whole((done) => client.Unary(Buffer.from('hello'), metadata, options, done)),
    large: await whole((done) => client.Unary(large, metadata, options, done)),
    give: await whole(() => client.Give(Buffer.from('100 1000'), metadata, options)),
    collect: await whole((done) => client.Collect(metadata, options, done), [Buffer.from('a'), Buffer.from('bc')]),
    chat: await whole(() => client.Chat(metadata, options), [Buffer.from('one'), Buffer.from('two')]),
    fail: await whole((done) => client.Fail(Buffer.from('7 not you'), metadata, options, done)),
  }));
  client.close();
}

mode === 'serve' ? serve() : main();
