/* A bare echo on a Unix socket, in a process of its own. */
import net from 'node:net';

const server = net.createServer((socket) => socket.on('data', (chunk) => socket.write(chunk)));
server.listen(process.argv[2], () => process.send?.('ready'));
