// SPDX-License-Identifier: Apache-2.0
//
// usage: node client.js ADDRESS reflection.proto
//
// Reads the definition of maglev.Maglev by reflection, without any other .proto file, then executes
// commands, one JSON object per line: {method, request, timeout (ms), take}. Each is answered with a
// line {answer} or, for a stream, {answers} (as many as take, then it is cancelled), and {code, text}.
'use strict';

const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');
const readline = require('readline');

const OPTIONS = { keepCase: true, longs: String, defaults: true };
const [address, reflectionProto] = process.argv.slice(2);
const credentials = grpc.credentials.createInsecure();

function varint(n) {
  return n < 128 ? [n] : [(n & 127) | 128, ...varint(n >> 7)];
}

// The files that describe a symbol, as the bytes of a FileDescriptorSet.
function describe(symbol) {
  const { v1 } = grpc.loadPackageDefinition(loader.loadSync(reflectionProto, OPTIONS)).grpc.reflection;
  const client = new v1.ServerReflection(address, credentials);
  return new Promise((resolve, reject) => {
    const stream = client.ServerReflectionInfo();
    stream.on('error', reject);
    stream.on('data', (response) => {
      const files = response.file_descriptor_response.file_descriptor_proto;
      resolve(Buffer.concat(files.flatMap((file) => [Buffer.from([10, ...varint(file.length)]), file])));
      stream.end();
      client.close();
    });
    stream.write({ file_containing_symbol: symbol });
  });
}

function plain(message) {
  return JSON.parse(JSON.stringify(message, (key, value) => (value === null ? undefined : value)));
}

function unary(client, order, options, done) {
  client[order.method](order.request, options, (error, answer) =>
    done(error ? { code: grpc.status[error.code], text: error.details } : { code: 'OK', answer: plain(answer) }));
}

function stream(client, order, options, done) {
  const answers = [];
  const call = client[order.method](order.request, options);
  call.on('data', (event) => {
    if (answers.push(plain(event)) === order.take) call.cancel();
  });
  call.on('error', (error) => done({ code: grpc.status[error.code], text: error.details, answers }));
  call.on('end', () => {});
}

async function main() {
  const definition = loader.loadFileDescriptorSetFromBuffer(await describe('maglev.Maglev'), OPTIONS);
  const { Maglev } = grpc.loadPackageDefinition(definition).maglev;
  const client = new Maglev(address, credentials);
  console.log(JSON.stringify({ methods: Object.values(Maglev.service).map((method) => method.path) }));
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    const options = order.timeout ? { deadline: Date.now() + order.timeout } : {};
    const streams = Maglev.service[order.method].responseStream;
    console.log(JSON.stringify(await new Promise((done) => (streams ? stream : unary)(client, order, options, done))));
  }
  client.close();
}

main();
