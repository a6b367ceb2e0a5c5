import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';

/** A proxy in front of PostgreSQL that breaks connections, as networks do. */
export class BreakingProxy {
  /** One in this many messages to the server closes the connection; 0 for none. */
  breakOneIn = 0;
  breaks = 0;
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #hung = false;
  #swallow: string | undefined;
  #lost: string | undefined;

  private constructor(targetPort: number) {
    this.#server = createServer((client) => this.#join(client, targetPort));
  }

  static async start(targetPort: number): Promise<BreakingProxy> {
    const proxy = new BreakingProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The next statement that contains `text` reaches the server, and the connection dies before its response. */
  swallowResponseTo(text: string): void {
    this.#swallow = text;
  }

  /** The next message that contains `text` is lost, and its connection stays open and silent. */
  lose(text: string): void {
    this.#lost = text;
  }

  /** From now on nothing passes in either direction and nothing is closed: a server that hangs. */
  hang(): void {
    this.#hung = true;
    for (const pair of this.#pairs) for (const socket of pair) socket.pause();
  }

  resume(): void {
    this.#hung = false;
    for (const pair of this.#pairs) for (const socket of pair) socket.resume();
  }

  async stop(): Promise<void> {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket, targetPort: number): void {
    const server = createConnection(targetPort, '127.0.0.1');
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    let swallowResponse = false;
    const close = () => {
      for (const socket of pair) socket.destroy();
      this.#pairs.delete(pair);
    };
    client.on('data', (bytes) => {
      if (this.breakOneIn > 0 && Math.random() < 1 / this.breakOneIn) {
        this.breaks++;
        // Half of them close before the statement arrives, half after it ran.
        if (Math.random() < 0.5) return close();
        swallowResponse = true;
      }
      if (this.#swallow !== undefined && bytes.includes(this.#swallow)) {
        this.#swallow = undefined;
        swallowResponse = true;
      }
      if (this.#lost !== undefined && bytes.includes(this.#lost)) this.#lost = undefined;
      else server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (swallowResponse) close();
      else client.write(bytes);
    });
    for (const socket of pair) {
      socket.on('error', close);
      socket.on('close', close);
      if (this.#hung) socket.pause();
    }
  }
}
