// SPDX-License-Identifier: Apache-2.0
// A server of HTTP/2 whose answer depends on the path. Its only argument is JSON:
//   {"key": PATH, "cert": PATH, "ca": PATH, "http1": bool, "streams": n, "connect": bool}
// With a key it uses TLS, otherwise prior knowledge. Each line that it writes is JSON: {"port": n} first,
// then one for each connection and for each request.
'use strict';
const fs = require('fs');
const http2 = require('http2');

const how = JSON.parse(process.argv[2]);
const settings = {enableConnectProtocol: how.connect !== false};
if (how.streams) settings.maxConcurrentStreams = how.streams;
const options = {settings, allowHTTP1: Boolean(how.http1)};
let refused = 0;
let sessions = 0;

function say(what) {
  fs.writeSync(1, JSON.stringify(what) + '\n');
}

function sum(stream) {
  let n = 0;
  stream.on('data', (piece) => { n += piece.length; });
  return new Promise((resolve) => stream.on('end', () => resolve(n)));
}

const answers = {
  '/hello': (stream) => {
    stream.respond({':status': 200, 'content-length': 5});
    stream.end('hello');
  },
  '/streamed': (stream) => {
    stream.respond({':status': 200});
    stream.write('one ');
    setImmediate(() => stream.end('two'));
  },
  '/nothing': (stream) => stream.respond({':status': 204}, {endStream: true}),
  '/empty': (stream) => stream.respond({':status': 200}, {endStream: true}),
  '/headers': (stream, headers) => {
    stream.respond({':status': 200, 'content-type': 'application/json'});
    stream.end(JSON.stringify(headers));
  },
  '/trailers': (stream) => {
    stream.respond({':status': 200, 'trailer': 'x-sum'}, {waitForTrailers: true});
    stream.on('wantTrailers', () => stream.sendTrailers({'x-sum': '42', 'grpc-status': '0'}));
    stream.end('body');
  },
  '/bare-trailers': (stream) => {
    stream.respond({':status': 200}, {waitForTrailers: true});
    stream.on('wantTrailers', () => stream.sendTrailers({'grpc-status': '5'}));
    stream.end();
  },
  '/early': (stream) => {
    stream.additionalHeaders({':status': 103, 'link': '</a.css>; rel=preload'});
    stream.respond({':status': 200, 'content-length': 4});
    stream.end('late');
  },
  '/echo': (stream, headers) => {
    let seen = {};
    stream.on('trailers', (trailers) => { seen = trailers; });
    stream.respond({':status': 200}, {waitForTrailers: true});
    stream.on('wantTrailers', () => stream.sendTrailers({'x-seen': seen['x-check'] || 'none'}));
    stream.pipe(stream);
  },
  '/count': (stream, headers) => {
    if (headers.expect) stream.additionalHeaders({':status': 100});
    sum(stream).then((n) => {
      stream.respond({':status': 200});
      stream.end(String(n));
    });
  },
  '/deaf': (stream) => stream.pause(),
  '/too-early': (stream) => {
    stream.respond({':status': 413, 'content-length': 3});
    stream.end('too');
  },
  '/broken': (stream) => {
    stream.respond({':status': 200});
    stream.write('half', () => stream.destroy(new Error('broken')));
  },
  '/refused-once': (stream) => {
    if (refused++ === 0) {
      stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
    } else {
      stream.respond({':status': 200});
      stream.end(`tries ${refused}`);
    }
  },
  '/leave': (stream) => {
    stream.respond({':status': 200});
    stream.end('left');
    stream.session.close();
  },
  '/silent': () => {},
};

function large(stream, n) {
  const piece = Buffer.alloc(65536, 'x');
  stream.respond({':status': 200, 'content-length': n});
  function more() {
    while (n > 0) {
      const part = n < piece.length ? piece.subarray(0, n) : piece;
      n -= part.length;
      if (!stream.write(part) && n > 0) {
        stream.once('drain', more);
        return;
      }
    }
    stream.end();
  }
  more();
}

function socket(stream, headers) {
  stream.respond({':status': 200, 'sec-websocket-protocol': headers['sec-websocket-protocol'] || 'none'});
  stream.pipe(stream);
}

function serve(stream, headers) {
  const path = headers[':path'].split('?')[0];
  stream.on('error', () => {});
  say({path, method: headers[':method'], session: stream.session.number});
  if (headers[':protocol'] === 'websocket') socket(stream, headers);
  else if (path === '/large') large(stream, Number(headers[':path'].split('=')[1]));
  else if (answers[path]) answers[path](stream, headers);
  else stream.respond({':status': 404}, {endStream: true});
}

if (how.key) {
  options.key = fs.readFileSync(how.key);
  options.cert = fs.readFileSync(how.cert);
  if (how.ca) Object.assign(options, {ca: fs.readFileSync(how.ca), requestCert: true, rejectUnauthorized: true});
}
const server = how.key ? http2.createSecureServer(options) : http2.createServer(options);
server.on('session', (session) => {
  session.number = ++sessions;
  const tls = session.encrypted ? {name: session.socket.servername, resumed: session.socket.isSessionReused(),
    peer: (session.socket.getPeerCertificate().subject || {}).CN} : {};
  say({session: session.number, ...tls});
  session.on('error', () => {});
});
server.on('stream', serve);
if (how.http1) server.on('request', (request, response) => { // not with trailers, which it would send itself
  if (request.httpVersionMajor === 1) {
    say({path: request.url, version: request.httpVersion});
    response.end('one');
  }
});
server.on('sessionError', () => {});
server.on('tlsClientError', () => {});
server.listen(how.port || 0, '127.0.0.1', () => say({port: server.address().port}));
