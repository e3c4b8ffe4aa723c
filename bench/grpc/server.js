// SPDX-License-Identifier: Apache-2.0
//
// usage: node server.js maglev.proto BACKENDS.json
//
// GetBackend and ListBackends of maglevd with the same rows, implemented with @grpc/grpc-js. Prints its port. Each
// answer is encoded per request, as in maglevd; a watch stays open and gets no events.
'use strict';

const fs = require('fs');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const [proto, file] = process.argv.slice(2);
const backends = JSON.parse(fs.readFileSync(file, 'utf8')).backends;
const byName = new Map(backends.map((backend) => [backend.name, backend]));
const { Maglev } = grpc.loadPackageDefinition(loader.loadSync(proto, { keepCase: true, longs: String })).maglev;
const watchers = new Set();

const server = new grpc.Server();
server.addService(Maglev.service, {
  GetBackend: (call, answer) => {
    const found = byName.get(call.request.name);
    answer(found ? null : { code: grpc.status.NOT_FOUND, details: 'no such backend' }, found);
  },
  ListBackends: (call, answer) => answer(null, { backends }),
  WatchEvents: (call) => {
    watchers.add(call);
    call.on('cancelled', () => watchers.delete(call));
    call.sendMetadata(new grpc.Metadata());
  },
});
server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(port);
});
