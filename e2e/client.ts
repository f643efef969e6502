/* An MCP client over stdio, as small as the protocol allows, so that tests see every line that the server writes. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { BINARY, type Home } from './home.ts';

export type Era = 'modern' | 'legacy';
export type Content = { type: string; text?: string; data?: string; mimeType?: string };
export type ToolResult = { content: Content[]; isError?: boolean; structuredContent?: Record<string, unknown> };
type Line = Record<string, unknown> & { id?: number; result?: unknown; error?: { code: number; message: string } };

const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

export class Client {
  readonly lines: Line[] = [];
  readonly process: ChildProcessWithoutNullStreams;
  stderr = '';
  #era: Era;
  #next = 0;
  #waiting = new Map<number, (line: Line) => void>();
  #listeners: ((line: Line) => void)[] = [];

  private constructor(home: Home, era: Era, command: string[]) {
    this.#era = era;
    const [program = BINARY, ...args] = command;
    this.process = spawn(program, args, { env: home.env, cwd: home.dir, stdio: 'pipe' });
    this.process.stderr.on('data', (chunk: Buffer) => {
      this.stderr = (this.stderr + chunk.toString()).slice(-20_000);
    });
    let rest = '';
    this.process.stdout.on('data', (chunk: Buffer) => {
      const parts = (rest + chunk.toString()).split('\n');
      rest = parts.pop() ?? '';
      for (const part of parts) this.#take(part);
    });
  }

  static async start(home: Home, era: Era = 'modern', command: string[] = [BINARY]): Promise<Client> {
    const client = new Client(home, era, command);
    if (era === 'legacy') {
      await client.request('initialize', {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'e2e', version: '1' },
      });
      client.notify('notifications/initialized', {});
    }
    return client;
  }

  /** A line that is not JSON fails the test at once: stdout is protocol and nothing else. */
  #take(text: string): void {
    const line = JSON.parse(text) as Line;
    this.lines.push(line);
    for (const listener of this.#listeners) listener(line);
    if (typeof line.id === 'number') {
      this.#waiting.get(line.id)?.(line);
      this.#waiting.delete(line.id);
    }
  }

  onLine(listener: (line: Line) => void): void {
    this.#listeners.push(listener);
  }

  notify(method: string, params: Record<string, unknown>): void {
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`);
  }

  /** Sends a request and gives its id at once, so that it can be cancelled. */
  send(
    method: string,
    params: Record<string, unknown>,
    meta: Record<string, unknown> = {},
  ): { id: number; answer: Promise<Line> } {
    const id = ++this.#next;
    const all = { ...(this.#era === 'modern' ? MODERN : {}), ...meta };
    const body = Object.keys(all).length > 0 ? { ...params, _meta: all } : params;
    const answer = new Promise<Line>((resolve, reject) => {
      const exited = (code: number | null) => reject(new Error(`server exited with ${code}\n${this.stderr}`));
      if (this.process.exitCode !== null || this.process.signalCode !== null) exited(this.process.exitCode);
      this.process.once('exit', exited);
      this.#waiting.set(id, (line) => {
        this.process.off('exit', exited);
        resolve(line);
      });
    });
    answer.catch(() => {});
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params: body })}\n`);
    return { id, answer };
  }

  async request(method: string, params: Record<string, unknown> = {}): Promise<Line> {
    return await this.send(method, params).answer;
  }

  async call(
    name: string,
    args: Record<string, unknown> = {},
    meta: Record<string, unknown> = {},
  ): Promise<ToolResult> {
    const line = await this.send('tools/call', { name, arguments: args }, meta).answer;
    if (line.error) throw new Error(`${name}: ${line.error.code} ${line.error.message}`);
    return line.result as ToolResult;
  }

  /** The text of a call that must succeed. */
  async text(name: string, args: Record<string, unknown> = {}): Promise<string> {
    const result = await this.call(name, args);
    const text = textOf(result);
    if (result.isError) throw new Error(`${name}: ${text}\n${this.stderr}`);
    return text;
  }

  /** The text of a call that must be refused. */
  async refusal(name: string, args: Record<string, unknown> = {}): Promise<string> {
    const result = await this.call(name, args);
    if (!result.isError) throw new Error(`${name} was not refused: ${textOf(result)}`);
    return textOf(result);
  }

  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.stdin.end();
    const hard = setTimeout(() => this.process.kill('SIGKILL'), 5_000);
    await gone;
    clearTimeout(hard);
  }
}

export function textOf(result: ToolResult): string {
  return result.content.map((block) => block.text ?? '').join('\n');
}
