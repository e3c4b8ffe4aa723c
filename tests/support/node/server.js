// SPDX-License-Identifier: Apache-2.0
// A server of Node's http and of ws. Prints its port. /echo: the request as JSON; /trailers: a body with a trailer;
// /early: 103 first; upgrades: every message comes back.
'use strict';
const crypto = require('crypto');
const http = require('http');
const { WebSocketServer } = require('ws');

function echo(request, response) {
  const hash = crypto.createHash('sha256');
  let length = 0;
  request.on('data', (data) => { hash.update(data); length += data.length; });
  request.on('end', () => {
    const body = JSON.stringify({ method: request.method, url: request.url, version: request.httpVersion, length,
      sha256: hash.digest('hex'), headers: request.headers, trailers: request.trailers });
    response.setHeader('Content-Type', 'application/json');
    response.end(body);
  });
}

function trailers(request, response) {
  response.writeHead(200, { Trailer: 'X-Sum' });
  response.write('one ');
  response.write('two');
  response.addTrailers({ 'X-Sum': '7' });
  response.end();
}

function early(request, response) {
  response.writeEarlyHints({ link: '</style.css>; rel=preload' });
  response.end('late');
}

const pages = { '/trailers': trailers, '/early': early };
const server = http.createServer((request, response) => (pages[request.url] || echo)(request, response));
const sockets = new WebSocketServer({ server, maxPayload: 64 << 20 });
sockets.on('connection', (socket) => {
  socket.on('message', (data, binary) => {
    if (!binary && data.toString() === 'leave') socket.close(4001, 'asked to');
    else socket.send(data, { binary });
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit(0)).resume();
