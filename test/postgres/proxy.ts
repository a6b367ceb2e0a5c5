import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';

/** Stands between the service and PostgreSQL and breaks what passes, the way networks do. */
export class BreakingProxy {
  /** Of how many messages to the server one ends in a cut; 0 for none. */
  cutOneIn = 0;
  cuts = 0;
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

  /** The next statement that holds `text` reaches the server, and the connection dies before its answer. */
  swallowAnswerTo(text: string): void {
    this.#swallow = text;
  }

  /** The next message that holds `text` gets lost, and its connection stays open and silent. */
  lose(text: string): void {
    this.#lost = text;
  }

  /** From now on nothing passes, in either direction, and nothing is closed: a server that hangs. */
  hang(): void {
    this.#hung = true;
    for (const pair of this.#pairs) for (const socket of pair) socket.pause();
  }

  goOn(): void {
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
    let swallowAnswer = false;
    const cut = () => {
      for (const socket of pair) socket.destroy();
      this.#pairs.delete(pair);
    };
    client.on('data', (bytes) => {
      if (this.cutOneIn > 0 && Math.random() < 1 / this.cutOneIn) {
        this.cuts++;
        // Half of the cuts come before the statement arrives, half after it was carried out.
        if (Math.random() < 0.5) return cut();
        swallowAnswer = true;
      }
      if (this.#swallow !== undefined && bytes.includes(this.#swallow)) {
        this.#swallow = undefined;
        swallowAnswer = true;
      }
      if (this.#lost !== undefined && bytes.includes(this.#lost)) this.#lost = undefined;
      else server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (swallowAnswer) cut();
      else client.write(bytes);
    });
    for (const socket of pair) {
      socket.on('error', cut);
      socket.on('close', cut);
      if (this.#hung) socket.pause();
    }
  }
}
