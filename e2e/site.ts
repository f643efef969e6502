/* Real HTTP servers on loopback for pages under test. `*.localhost` names resolve to loopback in Chromium, so one server
   gives as many origins as a test needs. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export type Page = string | ((request: http.IncomingMessage, response: http.ServerResponse) => void);

export class Site {
  readonly port: number;
  readonly hits: string[] = [];
  readonly #server: http.Server;

  private constructor(server: http.Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  static async start(pages: Record<string, Page>): Promise<Site> {
    const server = http.createServer();
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    const site = new Site(server);
    server.on('request', (request, response) => {
      const pathname = new URL(request.url ?? '/', 'http://x').pathname;
      site.hits.push(`${request.method} ${request.headers.host?.split(':')[0]}${request.url}`);
      const page = pages[pathname];
      if (page === undefined) {
        response.writeHead(404, { 'content-type': 'text/plain' }).end('not here');
      } else if (typeof page === 'string') {
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
      } else {
        page(request, response);
      }
    });
    return site;
  }

  url(pathname = '/', host = '127.0.0.1'): string {
    return `http://${host}:${this.port}${pathname}`;
  }

  origin(host = '127.0.0.1'): string {
    return `http://${host}:${this.port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}
