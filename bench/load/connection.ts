import { connect, type Socket } from 'node:net';

const READ_BUFFER = 64 * 1024;
const HEAD_END = '\r\n\r\n';
const LENGTH = /\r\ncontent-length: *(\d+)/i;

/**
 * A keep-alive connection with one request at a time. It parses only HTTP/1.1 responses with a
 * content-length: a general parser would cost the load client more than the response costs the server.
 */
export class Connection {
  readonly #socket: Socket;
  #pending = '';
  /** End of the current response in `#pending`, once its head has been read; otherwise 0. */
  #end = 0;
  #bodyStart = 0;
  onResponse: (status: number, body: string) => void = () => {};
  onBroken: (reason: string) => void = () => {};

  private constructor(port: number) {
    const buffer = Buffer.allocUnsafe(READ_BUFFER);
    this.#socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: {
        buffer,
        callback: (size) => {
          this.#read(buffer.toString('latin1', 0, size));
          return true;
        },
      },
    });
    this.#socket.on('error', (error) => this.onBroken(error.message));
    this.#socket.on('close', () => this.onBroken('the server closed the connection'));
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const connection = new Connection(port);
      connection.onBroken = (reason) => reject(new Error(reason));
      connection.#socket.once('connect', () => resolve(connection));
    });
  }

  send(message: string): void {
    this.#socket.write(message, 'latin1');
  }

  close(): void {
    this.onBroken = () => {};
    this.#socket.destroy();
  }

  #read(text: string): void {
    this.#pending = this.#pending === '' ? text : this.#pending + text;
    if (this.#end === 0 && !this.#readHead()) return;
    if (this.#pending.length < this.#end) return;
    const response = this.#pending;
    const body = response.slice(this.#bodyStart, this.#end);
    this.#pending = '';
    this.#end = 0;
    // "HTTP/1.1 200"
    this.onResponse(Number(response.slice(9, 12)), body);
  }

  #readHead(): boolean {
    const headEnd = this.#pending.indexOf(HEAD_END);
    if (headEnd < 0) return false;
    const length = LENGTH.exec(this.#pending.slice(0, headEnd));
    if (!length) {
      this.onBroken('a response without content-length');
      return false;
    }
    this.#bodyStart = headEnd + HEAD_END.length;
    this.#end = this.#bodyStart + Number(length[1]);
    return true;
  }
}
